package cpu

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/troupe-engine/troupe/gpu"
)

func systemMemory() (gpu.Memory, error) { return linuxMemory(os.DirFS("/")) }

// linuxMemory is the least of MemAvailable, what the memory cgroups of this process,
// version 1 or 2, and their parents leave, and what its limit of address space leaves.
func linuxMemory(root fs.FS) (gpu.Memory, error) {
	info, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		if p, is := errors.AsType[*fs.PathError](err); is {
			err = p.Err
		}
		return gpu.Memory{}, fmt.Errorf("cpu device: cannot determine the available memory: /proc/meminfo cannot be read: %w; mount /proc and make it readable", err)
	}
	m := gpu.Memory{Source: "MemAvailable"}
	m.Total, m.Available = field(info, "MemTotal:")<<10, field(info, "MemAvailable:")<<10
	if m.Total <= 0 || !bytes.Contains(info, []byte("\nMemAvailable:")) {
		return gpu.Memory{}, errors.New("cpu device: cannot determine the available memory: /proc/meminfo lacks MemTotal or MemAvailable; use Linux 3.14 or newer")
	}
	m = addressSpace(root, m)
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return m, nil // a kernel without cgroups
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // id:controllers:path
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "":
			m = eachGroup(root, "sys/fs/cgroup", parts[2], v2, m)
		case strings.Contains(","+parts[1]+",", ",memory,"):
			m = eachGroup(root, "sys/fs/cgroup/memory", parts[2], v1, m)
		}
	}
	return m, nil
}

// heapSpace is what a limit of address space must leave besides weights and KV
// pool, in bytes: Go's heap grows by 64 MiB and ends the process if it cannot. Sixteen
// request bodies of 64 MiB at once take 450 MB of it.
const heapSpace = 640 << 20

// addressSpace applies a limit as `ulimit -v` sets it. What is reserved counts
// from the start, the Go runtime's own and mapped files included.
func addressSpace(root fs.FS, m gpu.Memory) gpu.Memory {
	limits, err := fs.ReadFile(root, "proc/self/limits")
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(limits)) {
		rest, ok := strings.CutPrefix(line, "Max address space")
		if f := strings.Fields(rest); ok && len(f) > 0 {
			if limit, err := strconv.ParseInt(f[0], 10, 64); err == nil { // else "unlimited"
				status, _ := fs.ReadFile(root, "proc/self/status")
				m = lesser(m, limit, limit-field(status, "VmSize:")<<10-heapSpace, "the address space limit (ulimit -v)")
			}
		}
	}
	return m
}

// lesser applies a limit if it leaves less than m has.
func lesser(m gpu.Memory, total, available int64, source string) gpu.Memory {
	m.Total = min(m.Total, total)
	if available = max(0, available); available < m.Available {
		m.Available, m.Source = available, source
	}
	return m
}

// groupFiles names the files of a cgroup version, and its key for cached files.
type groupFiles struct{ limit, usage, cache string }

var (
	v1 = groupFiles{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	v2 = groupFiles{"memory.max", "memory.current", "inactive_file"}
)

// eachGroup applies the limits of a cgroup and its parents. If the path does not exist
// (the host's, seen from a container), the mount's own files remain.
func eachGroup(root fs.FS, mount, group string, files groupFiles, m gpu.Memory) gpu.Memory {
	for dir := path.Join(mount, path.Clean("/"+group)); ; dir = path.Dir(dir) {
		if limit, ok := number(root, path.Join(dir, files.limit)); ok && limit < m.Total {
			usage, _ := number(root, path.Join(dir, files.usage))
			stat, _ := fs.ReadFile(root, path.Join(dir, "memory.stat"))
			// The kernel reclaims cached files that were not used recently.
			used := max(0, usage-field(stat, files.cache))
			m = lesser(m, limit, limit-used, "cgroup limit")
		}
		if dir == mount {
			return m
		}
	}
}

// number reads a file of one number; "max" is none.
func number(root fs.FS, name string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// field finds the number after a key at the start of a line; 0 if missing.
func field(text []byte, key string) int64 {
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}
