package bench

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/troupe-engine/troupe/internal/units"
)

// Machine is the computer and the build that were measured.
type Machine struct {
	CPU            string `json:"cpu"`
	Cores          int    `json:"cores"` // as the system counts them
	GOMAXPROCS     int    `json:"gomaxprocs"`
	MemoryBytes    int64  `json:"memory_bytes,omitempty"` // 0: not known
	CacheBytes     int64  `json:"cache_bytes,omitempty"`  // of the last level; 0: not known
	InstructionSet string `json:"instruction_set"`
	GPU            string `json:"gpu,omitempty"` // that computed; "": the processors did
	GPUBytes       int64  `json:"gpu_memory_bytes,omitempty"`
	OS             string `json:"os"`
	Arch           string `json:"arch"`
	Go             string `json:"go"`
	Version        string `json:"version"`
	Commit         string `json:"commit"` // "" in a build outside a repository; ends in + with changes
}

func ThisMachine(version, instructionSet string, memory int64) Machine {
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo") // only Linux has it
	m := Machine{
		CPU: modelName(string(cpuinfo), runtime.GOARCH), Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0), MemoryBytes: memory, CacheBytes: lastCache(),
		InstructionSet: instructionSet, OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(), Version: version,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				m.Commit = s.Value + m.Commit
			case "vcs.modified":
				if s.Value == "true" {
					m.Commit += "+"
				}
			}
		}
	}
	return m
}

// String is the two or three lines above the figures.
func (m Machine) String() string {
	memory, commit := "", ""
	if m.MemoryBytes > 0 {
		memory = ", " + units.Bytes(m.MemoryBytes)
	}
	if m.Commit != "" {
		commit = ", commit " + m.Commit
	}
	gpu := ""
	if m.GPU != "" {
		gpu = fmt.Sprintf("device    %s, %s\n", m.GPU, units.Bytes(m.GPUBytes))
	}
	return fmt.Sprintf("machine   %s, %d cores%s, %s/%s, instruction set %s\n%stroupe    %s%s, %s, GOMAXPROCS %d\n",
		m.CPU, m.Cores, memory, m.OS, m.Arch, m.InstructionSet, gpu, m.Version, commit, m.Go, m.GOMAXPROCS)
}

func modelName(cpuinfo, otherwise string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}

// lastCache is the size of the largest cache in bytes, by Linux's sysfs; else 0.
func lastCache() int64 {
	largest := int64(0)
	for i := range 8 {
		text, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cache/index" + strconv.Itoa(i) + "/size")
		if err != nil {
			break
		}
		largest = max(largest, cacheSize(strings.TrimSpace(string(text))))
	}
	return largest
}

// cacheSize reads "2048K"; 0 if it cannot.
func cacheSize(text string) int64 {
	if strings.TrimRight(text, "KMG") != text {
		text += "iB"
	}
	n, err := units.ParseBytes(text)
	if err != nil || n > 1<<40 {
		return 0
	}
	return n
}
