package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func read(t *testing.T) header {
	t.Helper()
	text, err := os.ReadFile("../include/cuda.h")
	if err != nil {
		t.Fatal(err)
	}
	h, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestGenerated(t *testing.T) {
	want := trampolines(read(t))
	if have, err := os.ReadFile("../trampolines_amd64.S"); err != nil || !bytes.Equal(have, want) {
		t.Errorf("trampolines_amd64.S differs from what gen writes (%v); run go generate ./gpu/cuda/driver/gen", err)
	}
}

func TestParse(t *testing.T) {
	h, err := parse(`
typedef int CUdevice;
typedef enum {
	CUDA_SUCCESS = 0,
	CU_X = 1
} CUresult;
enum { CU_A = 0, CU_B = 1 };
typedef struct {
	size_t a, b;
	void **c;
} CUDA_S;
#define cuMemFree cuMemFree_v2
CUresult cuMemFree(CUdeviceptr);
CUresult cuCtxSynchronize(void);
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.functions) != 2 || h.functions[0].symbol != "cuCtxSynchronize" || h.functions[1].symbol != "cuMemFree_v2" || h.functions[1].name != "cuMemFree" {
		t.Errorf("functions are %v", h.functions)
	}
	for have, want := range map[string]string{
		strings.Join(h.constants, " "): "CUDA_SUCCESS CU_X CU_A CU_B",
		strings.Join(h.types, " "):     "CUdevice CUresult CUDA_S",
		strings.Join(h.fields, " "):    "CUDA_S.a CUDA_S.b CUDA_S.c",
	} {
		if have != want {
			t.Errorf("found %q, not %q", have, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"two lines":      "CUresult cuInit(\n\tunsigned);",
		"no declaration": "#define cuMemFree cuMemFree_v2\n",
		"twice":          "CUresult cuInit(unsigned);\nCUresult cuInit(unsigned);\n",
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
