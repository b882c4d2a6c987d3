package binarytest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func contains(text, words string) bool { return strings.Contains(text, words) }

// A model that cannot be loaded ends the process with the call that failed and a remedy,
// with auto as well: the GPU can be used, and the CPU may be far too slow for the model.
func TestFaultsWhileLoading(t *testing.T) {
	withCUDA(t)
	const model, report, restart = "cannot load LlamaForCausalLM", "please report it", "Restart the process"
	for _, c := range []struct {
		fake string
		want []string
	}{
		{"cuMemGetInfo:1=719", []string{"cuMemGetInfo", "CUDA_ERROR_LAUNCH_FAILED", report, restart}},
		{"cuModuleLoadData:1=209", []string{model, "cuModuleLoadData", "This program has no kernels for the device's architecture: use --device cpu, or a newer troupe-cuda"}},
		{"cuModuleLoadData:1=222", []string{model, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "Install NVIDIA's driver 525"}},
		{"cuModuleGetFunction:1=500", []string{model, "cuModuleGetFunction of ", "The program is damaged: install it again"}},
		{"cuFuncGetAttribute:1=1", []string{model, "cuFuncGetAttribute", report}},
		{"cuStreamCreate:1=2", []string{model, "cuStreamCreate", "nvidia-smi lists who uses the device's"}},
		{"cuMemAlloc:1=2", []string{model, "the model's weights need ", "Use a smaller model or --device cpu"}},
		{"cuMemHostAlloc:1=2", []string{model, "cuMemHostAlloc of 480.0 KiB", "Free memory of the host, or raise the limit of the container or on locked memory (ulimit -l)"}},
		{"cuEventCreate:1=2", []string{model, "cuEventCreate", "nvidia-smi"}},
		{"cuMemcpyHtoDAsync:1=700", []string{model, "cuMemcpyHtoDAsync", "CUDA_ERROR_ILLEGAL_ADDRESS", report, restart}},
		{"cuEventRecord:1=719", []string{model, "cuEventRecord", report, restart}},
		{"cuEventSynchronize:3=719", []string{model, "cuEventSynchronize", report, restart}},
		{"cuStreamSynchronize:1=214", []string{model, "cuStreamSynchronize", "CUDA_ERROR_ECC_UNCORRECTABLE", "nvidia-smi --gpu-reset", restart}},
		{"run:copy:3=719", []string{model, "CUDA_ERROR_LAUNCH_FAILED", restart}},
		{"lost=30", []string{model, "CUDA_ERROR_UNKNOWN", restart}},
		{"lost=20", []string{model, "CUDA_ERROR_UNKNOWN", "dmesg", restart}},
	} {
		t.Run(c.fake, func(t *testing.T) {
			t.Parallel()
			for _, device := range []string{"cuda", "auto"} {
				f := faults{fake: c.fake, args: roomy}
				text := refused(t, f.command(t, "serve", "--port", "0", "--device", device))
				says(t, text, c.want...)
				if strings.Count(text, "CUDA_ERROR_") != 1 || contains(text, "(model: ") {
					t.Errorf("it names the cause more than once: %s", text)
				}
			}
		})
	}
}

// Each allocation of the device's memory fails once. The error says what it was for, and how
// to need less.
func TestEachAllocation(t *testing.T) {
	withCUDA(t)
	remedy := regexp.MustCompile(`^troupe: (?:cuda device: cannot load .*: )?(.+?) need [0-9.]+ (?:bytes|[KMG]iB); the driver refused it although [0-9.]+ (?:bytes|[KMG]iB) are free on CUDA device 0 \(cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY\): memory may be fragmented, or limited by MPS or MIG\. (?:Lower|Use a) [^.]+, or free memory \(nvidia-smi lists who uses it\)`)
	seen := map[string]bool{}
	for n := 1; ; n++ {
		f := faults{fake: fmt.Sprintf("cuMemAlloc:%d=2", n), args: roomy}
		s := begin(t, f.command(t, "serve", "--port", "0", "--log-format", "json", "--device", "cuda"))
		if s.url != "" { // all that a start needs have failed
			s.stop(t)
			break
		}
		text := last(s.log.String())
		says(t, text, "CUDA_ERROR_OUT_OF_MEMORY", "nvidia-smi lists who uses ")
		found := remedy.FindStringSubmatch(text)
		if found == nil || s.status != 1 {
			t.Errorf("allocation %d: status %d, %s", n, s.status, text)
			continue
		}
		seen[found[1]] = true
	}
	for _, what := range []string{"the model's weights", "the KV pool's pages", "the buffers of a step", "the blocks that sample", "the page tables", "the tables of rotary angles", "the partial sums of products and attention", "the counters of blocks", "the headers of steps", "the tensor maps"} {
		if !seen[what] {
			t.Errorf("no allocation is for %s, but for %v", what, seen)
		}
	}
}

// If the model does not fit, the error says by how much, what others use, and what would
// fit; and that does fit.
func TestMemoryThatIsShort(t *testing.T) {
	withCUDA(t)
	const short = "not enough memory for the KV pool: "
	for _, c := range []struct {
		name   string
		faults faults
		want   []string
	}{
		{"taken by others", faults{fake: "memory=128MiB;taken=90MiB", args: roomy},
			[]string{short, " MiB are needed: weights ", "90.0 MiB of the device's 128.0 MiB are in use already (nvidia-smi lists by whom)", "max-running-requests 512 with chunked-prefill-size 512"}},
		{"a small device", faults{fake: "memory=40MiB", args: roomy}, []string{short, "max-running-requests 512 with chunked-prefill-size 512"}},
		{"hardly any", faults{fake: "memory=4MiB", args: roomy}, []string{short, ". No setting makes the model fit: use a smaller model, or --device cpu"}},
		{"a setting of the CPU", faults{args: append([]string{"--weight-dtype", "q8_0"}, roomy...)}, []string{"only the CPU device has weight-dtype; remove the setting, or set device to cpu"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			says(t, refused(t, c.faults.command(t, "serve", "--port", "0", "--device", "cuda")), c.want...)
		})
	}
	for _, c := range []struct {
		name   string
		faults faults
		warned string
	}{
		{"as advised", faults{fake: "memory=40MiB", args: append([]string{"--max-running-requests", "512", "--chunked-prefill-size", "512"}, roomy...)}, ""},
		{"a pool shorter than the context", faults{fake: "memory=111MiB", args: []string{"--mem-fraction-static", "0.96"}},
			"less than the context length of 1024: longer requests are refused; raise mem-fraction-static, or lower context-length"},
		{"a pool that is too large", faults{args: append([]string{"--max-total-tokens", "100000000"}, roomy...)}, "max-total-tokens 100000000 does not fit into memory; using "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := c.faults.serve(t, "cuda")
			if text, code := s.complete(t, "2"); text == "" || code != "" {
				t.Errorf("it answers %q, %s", text, code)
			}
			if status := s.stop(t); status != 0 || !contains(s.log.String(), c.warned) {
				t.Errorf("it ended with status %d, and the log does not have %q:\n%s", status, c.warned, s.log)
			}
		})
	}
}

// A benchmark on a GPU names it, and says nothing of the host's threads and bandwidth.
func TestBenchmarkOnAGPU(t *testing.T) {
	withCUDA(t)
	bench := func(more ...string) (string, error) {
		args := append([]string{"bench", "model", "--device", "cuda", "--through", "step", "--prompt", "8", "--generate", "2", "--repetitions", "1", "--read-bytes", "4MiB"}, more...)
		out, err := faults{args: roomy}.command(t, args...).CombinedOutput()
		return string(out), err
	}
	out, err := bench()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"machine   ", "device    Emulated GPU 9.0 (cuda:0), 256.0 MiB\n", "; activations in bf16, ", " pp8 ", " tg2 "} {
		if !contains(out, want) {
			t.Errorf("it does not have %q:\n%s", want, out)
		}
	}
	for _, not := range []string{"threads", "bandwidth", "caches"} {
		if contains(out, not) {
			t.Errorf("it has %q:\n%s", not, out)
		}
	}
	if out, err := bench("--threads", "2"); err == nil || !contains(out, "only the CPU device has threads; remove --threads, or set device to cpu") {
		t.Errorf("%v: %s", err, out)
	}
}
