package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/troupe-engine/troupe/"

// rule says what the packages below a path may import. The longest prefix that
// fits a package decides.
type rule struct {
	prefix string
	ours   []string // prefixes of our packages that are allowed
	deny   []string // prefixes of other packages that are not
	why    string
}

// The runtime, the outside world and the clock have no place in a core.
var impure = []string{"github.com/asynkron/", "net", "os", "log", "C", "math/rand", "crypto/rand", "github.com/rs/zerolog", "sync"}

var rules = []rule{
	{"messages", nil, impure, "every core imports the vocabulary, so it must drag nothing in"},
	{"gpu", []string{"internal/paging"}, impure, "the device interfaces are imported by models and must drag no device in"},
	{"gpu/rows", []string{"gpu"}, impure, "it turns deltas into sequences, for any device that works on the host"},
	{"gpu/stepqueue", []string{"gpu"}, nil, "it orders the steps of any device that works on the host"},
	{"gpu/ref", []string{"gpu"}, nil, "a device knows programs and steps, not the engine"},
	{"gpu/cpu", []string{"gpu"}, nil, "a device knows programs and steps, not the engine"},
	{"gpu/cpu/kernel", []string{"gpu"}, impure, "inner loops know memory and numbers; of gpu they take the 16-bit floats, so that all devices round alike"},
	{"testkit/kerneltest", []string{"gpu/cpu/kernel"}, nil, "it is what tests of the kernels share: guarded memory needs the system"},
	{"gpu/cpu/kernel/gen", nil, nil, "it writes assembly and is not part of the product"},
	{"gpu/cuda/driver", []string{"internal/units"}, nil, "it knows the API of the CUDA driver, and neither programs nor steps"},
	{"gpu/cuda/driver/gen", nil, nil, "it writes assembly and is not part of the product"},
	{"gpu/cuda", []string{"gpu", "gpu/cuda", "gpu/quant", "gpu/rows", "gpu/stepqueue", "internal/units"}, nil, "a device knows programs and steps, not the engine"},
	{"gpu/cuda/kernels", []string{"gpu/cuda/kernels"}, nil, "it is files, and a list of what is in them"},
	{"testkit/cudaemu", nil, nil, "it compiles C++ and knows neither devices nor engines"},
	{"testkit/binarytest", []string{"testkit/cudaemu", "testkit/locked", "testkit/racedetector"}, nil, "it runs the binaries and knows them by their commands and their API"},
	{"gpu/quant", []string{"gpu"}, impure, "it turns bytes into numbers; every device is compared with it"},
	{"lab/costmodel", nil, impure, "a cost model is arithmetic on plain numbers, the same on every machine"},
	{"testkit/gputest", []string{"gpu"}, nil, "test support for devices knows programs and steps only"},
	{"internal/invariants", nil, impure, "every core imports it"},
	{"testkit/invariantstest", []string{"internal/invariants"}, nil, "it is test support"},
	{"internal/splitmix", nil, impure, "it is arithmetic"},
	{"internal/paging", nil, impure, "every core and every device imports it"},
	{"request", []string{"messages", "internal/invariants"}, impure, "a core is a plain value: the simulator runs it by the million and a crash must leave it untouched"},
	{"memory", []string{"messages", "internal/invariants", "internal/paging"}, impure, "a core is a plain value: the simulator runs it by the million"},
	{"memory/pool", []string{"internal/paging"}, impure, "the size of the pool is arithmetic, and knows no model and no device"},
	{"memory/radix/gittins", []string{"memory/radix"}, impure, "the tree knows a policy by interface"},
	{"memory/radix/policies", []string{"memory/radix"}, impure, "the names of policies belong to settings, not to the tree"},
	{"sched", []string{"messages", "internal/invariants", "internal/paging", "internal/splitmix"}, impure, "a core is a plain value: the simulator runs it by the million"},
	{"sched/dispatch", []string{"messages", "internal/invariants", "sched/route"}, impure, "dispatch knows engines by their messages only"},
	{"sched/portal", []string{"messages", "internal/invariants"}, impure, "the portal knows engine and gateways by their messages only"},
	{"cluster/link", []string{"messages", "internal/invariants", "cluster/wire"}, impure, "a core is a plain value: the simulator cuts links by the million"},
	{"cluster/members", []string{"messages", "cluster/wire", "cluster/report"}, impure, "a core is a plain value: it says whom to call and never calls"},
	{"cluster/report", nil, []string{"github.com/asynkron/", "net", "os", "log", "C", "github.com/rs/zerolog", "sync"}, "it is JSON for people, and knows no actor"},
	{"cluster/wire", []string{"messages"}, []string{"github.com/asynkron/", "net", "os", "log", "C", "math/rand", "crypto/rand", "github.com/rs/zerolog"}, "it translates messages and knows no connection; the generated types need sync"},
	{"cluster/wire/gen", nil, nil, "it writes Go files and is not part of the product"},
	{"sched/former", []string{"messages", "internal/invariants", "internal/paging", "sched/pace"}, impure, "the batch former knows the queue by its messages only"},
	{"model", []string{"model", "gpu", "messages", "internal/paging"}, []string{"github.com/asynkron/", "net/http"}, "models turn step batches into device steps and know no actor"},
	{"model/weights", []string{"model", "gpu", "messages", "internal/jsonread"}, []string{"github.com/asynkron/", "net/http"}, "weights are files, and know no engine"},
	{"model/tokenizer", []string{"internal/jsonread", "model/blob"}, []string{"github.com/asynkron/", "net/http"}, "the tokenizer is usable on its own"},
	{"model/chat", []string{"model/chat", "internal/jsonread"}, []string{"github.com/asynkron/", "net/http"}, "chat templates are usable on their own"},
	{"model/grammar/outputs", []string{"model/grammar", "model/chat/output"}, []string{"github.com/asynkron/", "net/http", "os", "log"}, "a grammar of calls is made of the same data that reads them"},
	{"model/grammar", []string{"model/grammar"}, []string{"github.com/asynkron/", "net/http", "os", "log"}, "grammars are usable on their own, and know neither models nor requests"},
	{"model/bundled", nil, []string{"github.com/asynkron/", "net/http"}, "the embedded model is files, loaded by the same code as any other"},
	{"actors/runner", []string{"messages", "actors/shell", "internal/invariants"}, nil, "the runner knows its Executor by interface"},
	{"actors/observer", []string{"messages", "actors/shell"}, nil, "an actor reaches another one by messages only"},
	{"actors/cluster", []string{"messages", "cluster", "actors/cluster", "actors/shell", "actors/roster", "internal/suggest"}, nil, "it connects dispatch and portals over the network, and knows neither models nor settings"},
	{"actors/cluster/transport", []string{"messages", "cluster/wire"}, nil, "it carries frames and calls, and knows nothing of what is in them"},
	{"actors/roster", []string{"cluster/report", "actors/shell", "internal/invariants"}, nil, "it counts messages of any actor"},
	{"actors/node", []string{"cluster/report", "actors/roster", "actors/shell", "internal/suggest", "internal/units"}, nil, "it answers for a process, and knows others by what they report"},
	{"actors/cluster/identity", nil, []string{"github.com/asynkron/"}, "it knows files and TLS, and no actor"},
	{"actors/intake/httpapi/page", nil, []string{"github.com/asynkron/"}, "it is files, and knows no server"},
	{"actors/intake", []string{"messages", "request", "model/tokenizer", "model/chat", "model/grammar", "actors/shell", "internal/suggest", "internal/jsonread", "internal/units", "actors/intake", "cluster/report"}, nil, "intake alone speaks text; it knows no other actor"},
	{"actors/engine", []string{"messages", "request", "memory", "sched", "actors", "actors/shell"}, nil, "the engine wires actors and knows neither models nor settings"},
	{"actors/cluster/discovery", nil, nil, "it proposes addresses and knows neither links nor engines"},
	{"actors/shell", []string{"messages", "internal/invariants"}, nil, "the shell knows no core in particular"},
	{"testkit/clients", []string{""}, nil, "it runs the whole server for tests and official clients"},
	{"internal/archtest", nil, nil, "it reads the tree as text"},
	{"telemetry", []string{"messages"}, nil, "it knows metrics by name only"},
	{"telemetry/recording", []string{"messages", "memory"}, []string{"github.com/asynkron/", "net"}, "it writes a file and knows no server"},
	{"internal/hub", []string{"internal/units"}, []string{"github.com/asynkron/", "github.com/rs/zerolog"}, "it knows names, files and HTTP, and neither models nor settings"},
	{"testkit/hubtest", nil, nil, "it is a hub for tests"},
	{"testkit/hubtest/server", []string{"testkit/hubtest", "model/bundled"}, nil, "it serves the embedded model to clients in other languages"},
	{"internal/jsonread", nil, []string{"github.com/asynkron/", "net", "os"}, "it reads JSON of any origin and knows neither requests nor models"},
	{"telemetry/logtext", nil, impure, "it rewrites bytes"},
	{"internal/suggest", nil, impure, "it compares names"},
	{"internal/units", nil, impure, "it reads and writes numbers"},
	{"lab/cachereplay", []string{"memory", "messages", "lab/trace", "lab/measure"}, []string{"github.com/asynkron/", "net", "os"}, "it drives the cores of the cache and nothing else of the engine"},
	{"testkit/sources", nil, nil, "it is tests only"},
	{"lab/trace", []string{"telemetry/recording", "internal/splitmix"}, []string{"github.com/asynkron/", "net"}, "it reads files and knows nothing of the engine"},
	{"testkit/fakemodel", []string{"messages", "internal/invariants", "internal/splitmix"}, nil, "the fake takes the place of an executor"},
	{"lab/measure", nil, []string{"github.com/asynkron/", "net"}, "it knows durations and nothing of what took them"},
	{"lab/serverapi", []string{"telemetry/logtext"}, []string{"github.com/asynkron/"}, "it is a client like any other, and knows a server by its address"},
	{"testkit/seeded", nil, nil, "it orders any actors and knows none"},
	{"testkit/simtest", []string{"messages", "memory", "sched", "request", "cluster", "internal/invariants", "internal/paging", "testkit/fakemodel"}, []string{"github.com/asynkron/"}, "the simulator runs the cores without the runtime"},
	{"lab/replay", []string{"messages", "memory", "sched", "internal/paging", "lab/costmodel", "lab/trace", "lab/plot", "lab/measure", "internal/units", "internal/splitmix"}, []string{"github.com/asynkron/", "net", "math/rand", "sync"}, "it wires the cores as the engine does, on virtual time and without the runtime"},
	{"lab/bench", []string{"lab/bench", "lab/measure", "messages", "gpu", "internal/paging", "internal/units"}, []string{"github.com/asynkron/", "net"}, "it times steps and calls, and knows no actor"},
	{"lab/ggufwrite", []string{"gpu", "model/gguf"}, []string{"github.com/asynkron/", "net"}, "it writes files and knows no model beyond its shape"},
	{"lab/bench/kernels", []string{"gpu", "lab/ggufwrite", "lab/measure", "lab/bench"}, []string{"github.com/asynkron/", "net"}, "it times inner loops, which know neither models nor engines"},
	{"lab/bench/web", []string{"lab/bench", "lab/serverapi", "lab/load"}, []string{"github.com/asynkron/"}, "it is a client like any other, and knows a server by its address"},
	{"lab/load", []string{"lab/load", "lab/serverapi", "lab/trace", "lab/measure", "internal/units"}, []string{"github.com/asynkron/"}, "it measures any server from outside and must know nothing of ours"},
	{"lab/load/wire", []string{"internal/jsonread"}, []string{"net", "time"}, "it reads and writes bytes, so that what a token costs can be measured alone"},
	{"lab/load/work", []string{"lab/trace"}, []string{"net", "sync"}, "it says what to ask and knows no server and no clock"},
	{"testkit/conformance", nil, nil, "it finds and reads files, for any test"},
	{"testkit/clustertest", []string{"internal/invariants", "cluster/wire", "cluster/report", "testkit/racedetector"}, nil, "it runs the binary and knows it by its commands and its API, and attacks it with frames"},
	{"testkit/commandline", []string{""}, nil, "it runs whole commands for tests"},
	{"testkit/locked", nil, nil, "it is bytes under a lock, for any test"},
	{"testkit/ggufdata", nil, nil, "it is bytes of tensors, for any test"},
	{"testkit/golden", nil, nil, "it compares text with files, for any test"},
	{"testkit/racedetector", nil, nil, "it is a constant, for any test"},
	{"tools/fakecuda", []string{"testkit/cudaemu"}, nil, "it prints where the fake driver is"},
	{"tools/gpupack", nil, nil, "it unpacks an archive and is not part of the product"},
	{"tools/release", nil, nil, "it packs what the compiler made and is not part of the product"},
	{"testkit/traces", []string{"lab/trace"}, nil, "it reads recorded traces, for any test"},
	{"lab/plot", nil, nil, "it draws numbers and knows no engine"},
	{"configs", []string{"internal/suggest", "internal/paging", "actors", "memory", "sched", "request", "model", "gpu"}, nil, "configs composes the Options of what it configures"},
	{"cmd", []string{""}, nil, ""},
}

// floors are the rooms of the serving path, the lowest first. Nothing imports a
// higher one. The laboratory and the test kit are beside them.
var floors = []struct {
	name     string
	packages []string // prefixes; the longest that fits a package decides
}{
	{"vocabulary: messages, and programs for devices", []string{"messages", "gpu", "internal"}},
	{"cores: the decisions", []string{"request", "sched", "memory", "cluster"}},
	{"models and devices: the computation", []string{"model", "gpu/cpu", "gpu/cuda", "gpu/ref", "gpu/rows", "gpu/stepqueue", "gpu/quant"}},
	{"shells: the actors around the cores", []string{"actors", "telemetry"}},
	{"wiring", []string{"actors/engine", "configs", "cmd"}},
}

// beside are the rooms that no package of the serving path imports, but for the
// binary itself, which composes all commands.
var (
	beside = append([]string{"lab", "testkit", "gpu/cpu/kernel/gen", "gpu/cuda/driver/gen", "gpu/cuda/kernels/build", "cluster/wire/gen", "internal/archtest"}, labCommands...)
	// labCommands talk to servers, measure, replay, look inside and steer from outside.
	labCommands = []string{"cmd/troupe/bench", "cmd/troupe/chat", "cmd/troupe/cluster", "cmd/troupe/health", "cmd/troupe/inspect", "cmd/troupe/replay", "cmd/troupe/top", "cmd/troupe/remote"}
)

const binary = "cmd/troupe"

// floorOf gives the floor of a package of the serving path; -1 for one beside
// it.
func floorOf(pkg string) int {
	best, floor := -1, -1
	for i, f := range floors {
		for _, p := range f.packages {
			if within(pkg, p) && len(p) > best {
				best, floor = len(p), i
			}
		}
	}
	if slices.ContainsFunc(beside, func(p string) bool { return within(pkg, p) && len(p) > best }) {
		return -1
	}
	return floor
}

func TestNothingImportsUpwards(t *testing.T) {
	for pkg, imports := range packages(t) {
		from := floorOf(pkg)
		for _, imp := range imports {
			ours, is := strings.CutPrefix(imp, module)
			if !is || from < 0 {
				continue
			}
			switch to := floorOf(ours); {
			case to > from:
				t.Errorf("%s is on the floor %q and imports %s, which is above it (%s)", pkg, floors[from].name, ours, floors[to].name)
			case to < 0 && pkg != binary:
				t.Errorf("%s serves requests and imports %s, which is beside the serving path: move what both need below it", pkg, ours)
			}
		}
	}
}

func TestImports(t *testing.T) {
	for pkg, imports := range packages(t) {
		r, ok := ruleFor(pkg)
		if !ok {
			t.Errorf("package %s has no rule in internal/archtest; add one with its reason", pkg)
			continue
		}
		for _, imp := range imports {
			if ours, is := strings.CutPrefix(imp, module); is {
				if ours != pkg && !slices.ContainsFunc(r.ours, func(p string) bool { return within(ours, p) }) {
					t.Errorf("%s must not import %s: %s", pkg, ours, r.why)
				}
			} else if slices.ContainsFunc(r.deny, func(p string) bool { return within(imp, strings.TrimSuffix(p, "/")) }) {
				t.Errorf("%s must not import %s: %s", pkg, imp, r.why)
			}
		}
	}
}

// Cores get the time as an argument.
func TestCoresCallNoClock(t *testing.T) {
	for _, core := range []string{"messages", "request", "memory", "sched", "cluster", "gpu"} {
		for _, file := range goFiles(t) {
			if !within(file, core) || core == "gpu" && filepath.Dir(file) != core {
				continue
			}
			file = filepath.Join(root, file)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []string{"time.Now", "time.Since", "time.After", "time.Sleep", "time.NewTimer"} {
				if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), call+"(") {
					t.Errorf("%s calls %s: a core gets the time as an argument, so that every run replays", file, call)
				}
			}
		}
	}
}

const root = "../.."

// packages maps each package of the repository to the imports of its non-test
// files.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		all[pkg] = append(all[pkg], []string{}...)
		for _, spec := range parsed.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			all[pkg] = append(all[pkg], path)
		}
	}
	return all
}

// goFiles lists the Go files of the repository, relative to its root.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" || name == "bin") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, ".go") {
			rel, _ := filepath.Rel(root, path)
			files = append(files, rel)
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d Go files found below %s: %v", len(files), root, err)
	}
	return files
}

func ruleFor(pkg string) (best rule, ok bool) {
	for _, r := range rules {
		if within(pkg, r.prefix) && (!ok || len(r.prefix) > len(best.prefix)) {
			best, ok = r, true
		}
	}
	return best, ok
}

// within reports whether path is prefix or lies below it.
func within(path, prefix string) bool {
	return prefix == "" || path == prefix || strings.HasPrefix(path, prefix+"/")
}
