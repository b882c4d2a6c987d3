package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/testkit/conformance"
)

const twoAzure = azureHeader + "\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319600,3180,8"

func TestAzure(t *testing.T) {
	all, err := readAll(t, write(t, "a.csv", twoAzure), "azure")
	if err != nil || len(all) != 2 {
		t.Fatalf("%d requests, %v", len(all), err)
	}
	if b := all[1]; b.Line != 3 || b.Arrival != 52*time.Millisecond || b.Input != 3180 || b.Output != 8 || b.Blocks != nil {
		t.Errorf("%+v", b)
	}
	zoned := azureHeader + "\n2024-05-10 00:00:00.009930+00:00,1,2\n2024-05-10 01:00:01.009930+01:00,1,2\n"
	if all, err = readAll(t, write(t, "a.csv", zoned), "azure"); err != nil || len(all) != 2 || all[1].Arrival != time.Second {
		t.Errorf("with zones: %v, %v", all, err)
	}
}

func TestAzureRefuses(t *testing.T) {
	ok := azureHeader + "\n2023-11-16 18:17:03.9,48,10\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"blank", "\n", "the file has no header"},
		{"no request", azureHeader + "\n", "the file has no requests"},
		{"header", "time,in,out\n", `line 1: the header is "time,in,out"; expected TIMESTAMP,`},
		{"encoding", "\xff\n", "line 1: the text is not UTF-8"},
		{"fields", ok + "2023-11-16 18:17:03.9,48\n", "line 3: 2 fields; expected 3"},
		{"time", ok + "yesterday,48,10\n", `line 3: the time is "yesterday"; use for example 2023`},
		{"number", ok + "2023-11-16 18:17:04,4.5,10\n", `line 3: ContextTokens is "4.5"; it must be a whole number`},
		{"negative", ok + "2023-11-16 18:17:04,48,-1\n", "line 3: the output has -1 tokens"},
		{"huge", ok + "2023-11-16 18:17:04,134217729,1\n", "line 3: the input has 134217729 tokens"},
		{"unsorted", ok + "2023-11-16 18:17:03.8,48,10\n", "line 3: the time goes back"},
		{"late", ok + "2099-11-16 18:17:03.8,48,10\n", "line 3: the time is more than 7300 days after"},
	} {
		_, err := readAll(t, write(t, "a.csv", c.text), "azure")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "a.csv") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzAzure(f *testing.F) {
	f.Add([]byte(twoAzure))
	f.Add([]byte(azureHeader + "\n2024-05-10 00:00:00.009930+00:00,1,2"))
	f.Fuzz(func(t *testing.T, text []byte) { checkFuzzed(t, text, "azure") })
}

func TestConformanceAzure(t *testing.T) {
	total := 0
	for name, want := range map[string]int{"code": 8819, "conv": 19366} {
		all, err := readAll(t, conformance.Path(t, "traces/azure/AzureLLMInferenceTrace_"+name+".csv"), "azure")
		if err != nil || len(all) != want {
			t.Errorf("%s: %d requests, want %d: %v", name, len(all), want, err)
		}
		total += len(all)
	}
	if total != 28185 {
		t.Errorf("%d requests in all", total)
	}
}
