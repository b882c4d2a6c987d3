package configs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// The table in docs/operations.md has for each setting whether it changes live, and a list
// of all that do.
func TestDocsSayWhatChangesLive(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	must(t, err)
	var all, lives []string
	for _, v := range Default().Values() {
		all = append(all, v.Key)
		if v.Live {
			lives = append(lives, v.Key)
		}
	}
	code := regexp.MustCompile("`([a-z-]+)`")
	_, table, _ := strings.Cut(string(text), "| setting | default | changes |")
	table, reload, _ := strings.Cut(table, "### Reload")
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, ""), "|")
		if len(cells) != 6 || !strings.Contains(cells[1], "`") {
			continue
		}
		rows++
		for _, key := range code.FindAllStringSubmatch(cells[1], -1) {
			want := map[bool]string{true: "live", false: "restart"}[slices.Contains(lives, key[1])]
			if got := strings.TrimSpace(cells[3]); got != want && key[1] != "prefill-chunk-size" {
				t.Errorf("%s: the table says %s, the code %s", key[1], got, want)
			}
			if !slices.Contains(all, key[1]) && key[1] != "prefill-chunk-size" {
				t.Errorf("%s is not a setting", key[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows were found", rows)
	}
	_, list, _ := strings.Cut(reload, "These settings can change live:")
	list, _, _ = strings.Cut(list, "All others")
	var documented []string
	for _, key := range code.FindAllStringSubmatch(list, -1) {
		documented = append(documented, key[1])
	}
	slices.Sort(lives)
	if !slices.Equal(documented, lives) {
		t.Errorf("documented as live are %q, live are %q", documented, lives)
	}
}

// Variables of commands and tests must not stop a server, or a test that reads settings.
func TestEveryVariableIsKnown(t *testing.T) {
	name := regexp.MustCompile(`\.(?:Getenv|LookupEnv)\("(TROUPE_[A-Z_]+)"\)`)
	found := 0
	must(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, variable := range name.FindAllStringSubmatch(string(text), -1) {
			found++
			for _, err := range unknownVariables([]string{variable[1] + "=1"}, Default().settings()) {
				t.Errorf("%s: %v", path, err)
			}
		}
		return err
	}))
	if found < 20 {
		t.Errorf("only %d uses of variables were found", found)
	}
}

// The limits of cluster-peer-timeout are in its help and in the docs.
func TestTheLimitsOfPeerTimeoutAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/cluster.md")
	must(t, err)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(flags)
	for _, limit := range []struct{ at, beyond string }{{"500ms", "499ms"}, {"1h", "61m"}} {
		if _, _, err := load(t, "", nil, "--cluster-peer-timeout", limit.at); err != nil {
			t.Error(err)
		}
		if _, _, err := load(t, "", nil, "--cluster-peer-timeout", limit.beyond); err == nil {
			t.Errorf("%s is accepted", limit.beyond)
		}
		if usage := flags.Lookup("cluster-peer-timeout").Usage; !strings.Contains(usage, limit.at) || !strings.Contains(string(text), "after this silence a node is lost; 500ms to 1h.") {
			t.Errorf("the help lacks %s, or the docs do: %s", limit.at, usage)
		}
	}
}
