package cpu

import (
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
)

func TestLinuxMemory(t *testing.T) {
	const (
		meminfo = "MemTotal:       1000 kB\nMemFree: 5 kB\nMemAvailable:    800 kB\n"
		kB      = 1024
	)
	cases := map[string]struct {
		files map[string]string
		want  gpu.Memory
	}{
		"no cgroups": {nil, gpu.Memory{Total: 1000 * kB, Available: 800 * kB, Source: "MemAvailable"}},
		"v2, limit of a parent, cache given back": {map[string]string{
			"proc/self/cgroup":               "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max":   "max\n",
			"sys/fs/cgroup/a/memory.max":     "307200\n",
			"sys/fs/cgroup/a/memory.current": "204800\n",
			"sys/fs/cgroup/a/memory.stat":    "anon 1\ninactive_file 102400\n",
		}, gpu.Memory{Total: 300 * kB, Available: 200 * kB, Source: "cgroup limit"}},
		"v2, the path is the host's": {map[string]string{
			"proc/self/cgroup":             "0::/docker/12ab\n",
			"sys/fs/cgroup/memory.max":     "102400\n",
			"sys/fs/cgroup/memory.current": "204800\n",
		}, gpu.Memory{Total: 100 * kB, Available: 0, Source: "cgroup limit"}},
		"v1": {map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "512000",
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": "102400",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712",
		}, gpu.Memory{Total: 500 * kB, Available: 400 * kB, Source: "cgroup limit"}},
		"a limit of address space": {map[string]string{
			"proc/self/limits": "Limit Soft Limit Hard Limit Units\nMax locked memory 8192 8192 bytes\nMax address space         672317440   819200   bytes\n",
			"proc/self/status": "VmPeak:\t 900 kB\nVmSize:\t 700 kB\n",
		}, gpu.Memory{Total: 1000 * kB, Available: 500 * kB, Source: "the address space limit (ulimit -v)"}},
		"a limit of address space that leaves nothing": {map[string]string{
			"proc/self/limits": "Max address space         672317440   672317440   bytes\n",
			"proc/self/status": "VmSize:\t 90000 kB\n",
		}, gpu.Memory{Total: 1000 * kB, Source: "the address space limit (ulimit -v)"}},
		"no limit of address space": {map[string]string{
			"proc/self/limits": "Max address space         unlimited            unlimited            bytes\n",
			"proc/self/status": "VmSize:\t 200 kB\n",
		}, gpu.Memory{Total: 1000 * kB, Available: 800 * kB, Source: "MemAvailable"}},
		"a limit that leaves more than there is": {map[string]string{
			"proc/self/cgroup":             "0::/\n",
			"sys/fs/cgroup/memory.max":     "1000000",
			"sys/fs/cgroup/memory.current": "10",
		}, gpu.Memory{Total: 1000000, Available: 800 * kB, Source: "MemAvailable"}},
	}
	for name, c := range cases {
		root := fstest.MapFS{"proc/meminfo": {Data: []byte(meminfo)}}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		got, err := linuxMemory(root)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	if m, err := linuxMemory(fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: 5 kB\nMemAvailable: 0 kB\n")}}); err != nil || m.Total != 5*kB || m.Available != 0 {
		t.Errorf("a machine whose memory is all in use: %+v, %v", m, err)
	}
	if _, err := linuxMemory(fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: 5 kB\n")}}); err == nil {
		t.Error("a meminfo without MemAvailable is accepted")
	}
	if m, err := systemMemory(); err != nil || m.Available <= 0 || m.Available > m.Total {
		t.Errorf("this machine: %+v, %v", m, err)
	}
}
