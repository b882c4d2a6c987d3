package binarytest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The fault-free run: what a fault may not change, and that nothing is left on the device.
func TestNothingIsLeft(t *testing.T) {
	withCUDA(t)
	report := filepath.Join(t.TempDir(), "counts")
	s := faults{fake: "report=" + report, args: roomy}.serve(t, "auto")
	says(t, s.line("the device was chosen"), `"why":"it can be used"`, "Emulated GPU 9.0 (cuda:0)")
	if text, code := s.complete(t, "8"); text == "" || code != "" {
		t.Errorf("it answers %q, %s", text, code)
	}
	if status := s.stop(t); status != 0 {
		t.Errorf("it ended with status %d:\n%s", status, s.log)
	}
	counts := string(must(os.ReadFile(report))(t))
	for _, field := range strings.Fields(counts) {
		if name, n, _ := strings.Cut(field, "="); name != "kernels" && n != "0" {
			t.Errorf("left are %s", counts)
			break
		}
	}
}

// A step that fails is done again by a new epoch, and the client notices nothing. If the
// device is lost, streams end with an error and the process with a status, so that
// whoever supervises it starts it anew.
func TestFaultsInSteps(t *testing.T) {
	withCUDA(t)
	want, _ := faults{args: roomy}.serve(t, "cuda").complete(t, "80")
	const report, restart = "please report it", "Restart the process, which cannot use the device any more"
	for _, c := range []struct {
		fake string
		lost bool
		want []string // of the log
	}{
		// Numbers of calls and runs are beyond those of loading.
		{"cuMemcpyHtoDAsync:120=1", false, []string{"cuMemcpyHtoDAsync", "CUDA_ERROR_INVALID_VALUE", report}},
		{"cuMemcpyDtoHAsync:5=1", false, []string{"cuMemcpyDtoHAsync", report}},
		{"cuLaunchKernelEx:40=701", false, []string{"cuLaunchKernelEx of ", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", report}},
		{"cuGraphLaunch:20=701", false, []string{"cuGraphLaunch", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", report}},
		{"cuEventSynchronize:90=1", false, []string{"cuEventSynchronize", report}},
		// The step before the one that fails is under way, and may tell it first.
		{"cuMemcpyHtoDAsync:120=700", true, []string{"CUDA_ERROR_ILLEGAL_ADDRESS", report, restart}},
		{"cuMemcpyDtoHAsync:5=719", true, []string{"CUDA_ERROR_LAUNCH_FAILED", report, restart}},
		{"cuGraphLaunch:20=719", true, []string{"CUDA_ERROR_LAUNCH_FAILED", report, restart}},
		{"cuEventSynchronize:90=214", true, []string{"cuEventSynchronize", "CUDA_ERROR_ECC_UNCORRECTABLE", "nvidia-smi --gpu-reset", restart}},
		{"run:*:500=700", true, []string{"CUDA_ERROR_ILLEGAL_ADDRESS", report, restart}},
		{"lost=500", true, []string{"CUDA_ERROR_UNKNOWN", "dmesg", restart}},
	} {
		t.Run(c.fake, func(t *testing.T) {
			t.Parallel()
			s := faults{fake: c.fake, args: roomy}.serve(t, "cuda")
			text, code := s.complete(t, "80")
			if !c.lost {
				if text != want || code != "" {
					t.Errorf("the answer is %q, %s; without the fault %q", text, code, want)
				}
				says(t, s.line("restarting the engine"), c.want...)
				if status := s.stop(t); status != 0 {
					t.Errorf("it ended with status %d:\n%s", status, s.log)
				}
				return
			}
			if code != "shutting_down" || !strings.HasPrefix(want, text) || text == "" {
				t.Errorf("the stream ends with %q after %q; without the fault %q", code, text, want)
			}
			<-s.ended
			if s.status != 1 {
				t.Errorf("it ended with status %d", s.status)
			}
			says(t, last(s.log.String()), append(c.want, "the device has failed for good: step ")...)
			if text := strings.ToLower(last(s.log.String())); strings.Count(text, "restart the") != 1 || strings.Contains(text, "failed: step: ") {
				t.Errorf("it says something twice: %s", text)
			}
		})
	}
}

// What cannot be freed at the end is told, with a status.
func TestFaultsAtTheEnd(t *testing.T) {
	withCUDA(t)
	for fake, want := range map[string]string{
		"cuMemFree:1=719": "cuMemFree", "cuModuleUnload:1=719": "cuModuleUnload", "cuStreamDestroy:1=719": "cuStreamDestroy",
		"cuDevicePrimaryCtxRelease:1=719": "cuDevicePrimaryCtxRelease",
	} {
		t.Run(fake, func(t *testing.T) {
			t.Parallel()
			s := faults{fake: fake, args: roomy}.serve(t, "cuda")
			if status := s.stop(t); status != 1 {
				t.Errorf("it ended with status %d", status)
			}
			says(t, last(s.log.String()), "CUDA device 0: "+want, "CUDA_ERROR_LAUNCH_FAILED")
		})
	}
}
