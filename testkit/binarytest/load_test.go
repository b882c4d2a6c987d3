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
	const model, report, restart = "cannot load LlamaForCausalLM", "please report it", "restart the process"
	for _, c := range []struct {
		fake string
		want []string
	}{
		{"cuMemGetInfo:1=719", []string{"cuMemGetInfo", "CUDA_ERROR_LAUNCH_FAILED", report, restart}},
		{"cuModuleLoadData:1=209", []string{model, "cuModuleLoadData", "this program has no kernels for the device's architecture"}},
		{"cuModuleLoadData:1=222", []string{model, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "install NVIDIA's driver 525"}},
		{"cuModuleGetFunction:1=500", []string{model, "cuModuleGetFunction of ", "the program is damaged: install it again"}},
		{"cuFuncGetAttribute:1=1", []string{model, "cuFuncGetAttribute", report}},
		{"cuStreamCreate:1=2", []string{model, "cuStreamCreate", "nvidia-smi lists who uses the device's"}},
		{"cuMemAlloc:1=2", []string{model, "the model needs ", "use a smaller model, or --device cpu"}},
		{"cuMemHostAlloc:1=2", []string{model, "cuMemHostAlloc of 32.0 MiB", "free memory of the host, or raise the limit of the container or on locked memory (ulimit -l)"}},
		{"cuEventCreate:1=2", []string{model, "cuEventCreate", "nvidia-smi"}},
		{"cuMemcpyHtoDAsync:1=700", []string{model, "cuMemcpyHtoDAsync", "CUDA_ERROR_ILLEGAL_ADDRESS", report, restart}},
		{"cuEventRecord:1=719", []string{model, "cuEventRecord", report, restart}},
		{"cuEventSynchronize:3=719", []string{model, "cuEventSynchronize", report, restart}},
		{"cuStreamSynchronize:1=214", []string{model, "cuStreamSynchronize", "CUDA_ERROR_ECC_UNCORRECTABLE", "nvidia-smi --gpu-reset", restart}},
		{"run:copy:3=719", []string{model, "CUDA_ERROR_LAUNCH_FAILED", restart}},
		{"lost=20", []string{model, "CUDA_ERROR_UNKNOWN", "dmesg", restart}},
	} {
		t.Run(c.fake, func(t *testing.T) {
			t.Parallel()
			for _, device := range []string{"cuda", "auto"} {
				f := faults{fake: c.fake, args: roomy}
				says(t, refused(t, f.command(t, "serve", "--port", "0", "--device", device)), c.want...)
			}
		})
	}
}

// Each allocation of the device's memory fails once. The error says what it was for, and how
// to need less.
func TestEachAllocation(t *testing.T) {
	withCUDA(t)
	remedy := regexp.MustCompile(`^troupe: (?:cuda device: cannot load .*: )?(.+?) need [0-9.]+ (?:bytes|[KMG]iB) of the device's memory, but only [0-9.]+ (?:bytes|[KMG]iB) are free: (?:lower|use a) [^:]+: CUDA device 0: cuMemAlloc of `)
	seen := map[string]bool{}
	for n := 1; ; n++ {
		f := faults{fake: fmt.Sprintf("cuMemAlloc:%d=2", n), args: roomy}
		s := begin(t, f.command(t, "serve", "--port", "0", "--log-format", "json", "--device", "cuda"))
		if s.url != "" { // all that a start needs have failed
			s.stop(t)
			break
		}
		text := last(s.log.String())
		says(t, text, "CUDA_ERROR_OUT_OF_MEMORY", "nvidia-smi lists who uses the device's")
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
			[]string{short, "MiB short; ", "90.0 MiB of the device's 128.0 MiB are in use already (nvidia-smi lists by whom)", "or set max-running-requests to 512 and chunked-prefill-size to 512"}},
		{"a small device", faults{fake: "memory=40MiB", args: roomy}, []string{short, "or set max-running-requests to 512 and chunked-prefill-size to 512"}},
		{"hardly any", faults{fake: "memory=4MiB", args: roomy}, []string{short, "smaller steps alone do not help: use a smaller model, or set device to cpu"}},
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
