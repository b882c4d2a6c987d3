package configs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

// layerNames are the sources; later ones override earlier ones.
var layerNames = []string{"default", "file", "environment", "flag"}

// The value and the source of every setting are those of the last layer that has it, for
// any types, names and file formats. The model is a map of values for each layer.
func TestLayersAgainstAMapOfMaps(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		table := Default().settings()
		twin := map[string]map[string]any{"default": {}, "file": {}, "environment": {}, "flag": {}}
		var env, args []string
		var lines []string
		format := rapid.SampledFrom([]string{"yaml", "toml", "json"}).Draw(t, "format")
		for _, s := range table {
			twin["default"][s.key] = s.value()
			for _, layer := range layerNames[1:] {
				if rapid.IntRange(0, 3).Draw(t, "given") > 0 {
					continue
				}
				name := rapid.SampledFrom(s.names()).Draw(t, "name")
				value := drawValue(t, s.value(), layer)
				twin[layer][s.key] = value
				switch layer {
				case "file":
					if rapid.Bool().Draw(t, "upper case") && format != "toml" {
						name = strings.ToUpper(name)
					}
					lines = append(lines, pair(format, name, value))
				case "environment":
					env = append(env, envName(name)+"="+plain(value))
				case "flag":
					if list, ok := value.([]string); ok {
						for _, e := range list {
							args = append(args, "--"+name, `"`+strings.ReplaceAll(e, `"`, `""`)+`"`)
						}
						if len(list) == 0 {
							args = append(args, "--"+name, "")
						}
						continue
					}
					args = append(args, "--"+name+"="+plain(value))
				}
			}
		}
		text := strings.Join(lines, "\n") + "\n"
		if format == "json" {
			text = "{\n" + strings.Join(lines, ",\n") + "\n}\n"
		}
		file := filepath.Join(dir, "troupe."+format)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		AddFlags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		restore := setenv(t, env)
		c, err := Load(file, flags) // an error is of the checks after the layers
		restore()
		if c == nil {
			t.Fatal(err)
		}
		values := c.Values()
		if len(values) != len(table) {
			t.Fatalf("%d values of %d settings: %v\n%s", len(values), len(table), err, text)
		}
		for _, v := range values {
			from := "default"
			for _, layer := range layerNames {
				if _, ok := twin[layer][v.Key]; ok {
					from = layer
				}
			}
			if want := twin[from][v.Key]; !equal(v.Value, want) {
				t.Errorf("%s is %#v, want %#v from the %s\n%s\n%q %q", v.Key, v.Value, want, from, text, env, args)
			}
			if source, _, _ := strings.Cut(v.Source, " "); source != from {
				t.Errorf("%s is reported as from %q, want the %s", v.Key, v.Source, from)
			}
			if from == "file" && !strings.Contains(v.Source, ", line ") {
				t.Errorf("%s comes from %q without a line", v.Key, v.Source)
			}
		}
	})
}

// words look like values of other types, which formats and libraries like to convert.
var words = []string{"a", "yes", "no", "1", "0", "0x10", "1e3", "null", "~", "true", "12:30", "[x]", "[", "]", "{}", "a b", " a", "a ", "#a", "a: b", "a=b", "'a'", "ü", "-", "\\n", "$HOME", "2026-01-02"}

func drawValue(t *rapid.T, like any, layer string) any {
	switch like.(type) {
	case bool:
		return rapid.Bool().Draw(t, "value")
	case int:
		return rapid.IntRange(-5, 1<<30).Draw(t, "value")
	case int64:
		return rapid.Int64Range(-5, 1<<50).Draw(t, "value")
	case float64:
		return float64(rapid.IntRange(-4000, 4000).Draw(t, "value")) / 8
	case time.Duration:
		return time.Duration(rapid.Int64Range(-1000, 1e9).Draw(t, "value")) * time.Millisecond
	case string:
		return rapid.SampledFrom(append([]string{""}, words...)).Draw(t, "value")
	}
	choice := words
	switch layer {
	case "environment": // texts between commas are trimmed
		choice = []string{"a", "yes", "1", "null", "[x]", "[", "]", "a b", "ü"}
	case "flag":
		choice = append([]string{"a,b", `"`, "a,", "[a,b]"}, words...)
	}
	return rapid.SliceOfN(rapid.SampledFrom(choice), 0, 3).Draw(t, "value")
}

// plain formats a value as users write it in the environment or after a flag.
func plain(value any) string {
	if list, ok := value.([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(value)
}

// pair is a line of a file. Strings of JSON are also strings of YAML and TOML.
func pair(format, name string, value any) string {
	if d, ok := value.(time.Duration); ok {
		value = d.String()
	}
	if reflect.ValueOf(value).Kind() == reflect.Slice && reflect.ValueOf(value).Len() == 0 {
		value = []string{}
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	switch format {
	case "toml":
		return name + " = " + string(text)
	case "json":
		return fmt.Sprintf("%q: %s", name, text)
	}
	return name + ": " + string(text)
}

// The extension of the file selects the format, and what its decoder would ignore is an
// error.
func TestFormats(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"yaml":               {"t.yaml", "port: 1\napi-key: [a, b]\nqueue-timeout: 5s\n", ""},
		"yml":                {"t.yml", "port: 1\napi-key: [a, b]\nqueue-timeout: 5s\n", ""},
		"no extension":       {"t", "port: 1\napi-key: [a, b]\nqueue-timeout: 5s\n", ""},
		"upper case":         {"t.yaml", "Port: 1\nAPI-KEY: [a, b]\nQueue-Timeout: 5s\n", ""},
		"toml":               {"t.toml", "port = 1\napi-key = ['a', 'b']\nqueue-timeout = '5s'\n", ""},
		"json":               {"t.JSON", `{"port": 1, "api-key": ["a", "b"], "queue-timeout": "5s"}`, ""},
		"yaml, twice":        {"t.yaml", "port: 1\nport: 2\n", "port"},
		"toml, twice":        {"t.toml", "port = 1\nport = 2\n", "t.toml"},
		"json, twice":        {"t.json", `{"port": 1, "port": 2}`, "port"},
		"yaml, twice, cases": {"t.yaml", "port: 1\nPort: 2\n", "port appears twice in config file"},
		"json, twice, cases": {"t.json", `{"port": 1, "PORT": 1}`, "port appears twice in config file"},
		"json, null":         {"t.json", `{"port": null}`, "has port without a value"},
		"json, two values":   {"t.json", `{"port": 1} {}`, "after the end"},
		"json, a list":       {"t.json", `[1]`, "t.json: the file does not consist of keys and values; write one JSON object"},
		"json, a text":       {"t.json", `"port"`, "does not consist of keys and values"},
		"json, broken":       {"t.json", "{\"port\": 1,\n\"host\": x}", "t.json: line 2: "},
		"toml, a table":      {"t.toml", "[server]\nport = 1\n", "unknown setting server.port"},
		"toml, unknown":      {"t.toml", "prot = 1\n", "did you mean port?"},
		"toml, broken":       {"t.toml", "port: 1\n", "write TOML"},
		"toml, line":         {"t.toml", "port = 1\nhost = x\n", "t.toml: line 2: "},
		"json, a fraction":   {"t.json", `{"port": 1.5}`, `is "1.5"; it must be a whole number`},
		"an empty map":       {"t.json", `{"port": {}}`, "is a map; it must be a whole number"},
		"a list for a text":  {"t.toml", "host = ['a']\n", "is a list; it must be a string"},
		"too big":            {"t.json", `{"max-body-bytes": 1e300}`, `is "1e+300"; it must be a whole number`},
		"yaml, a list":       {"t.yaml", "- port\n", "t.yaml: the file does not consist of keys and values; write YAML"},
		"yaml, a text":       {"t.yaml", "port 1\n", "does not consist of keys and values"},
		"yaml, markers":      {"t.yaml", "# one\n---\nport: 1\napi-key: ['a', b]\nqueue-timeout: 5s\n...\n", ""},
		"yaml, two":          {"t.yaml", "port: 1\n---\nport: 1\n", "t.yaml: line 2: a second YAML document begins; put all settings into one"},
		"yaml, first empty":  {"t.yaml", "---\n---\nport: 1\n", "line 2: a second YAML document"},
		"yaml, second bad":   {"t.yaml", "port: 1\n---\n[\n", "write YAML"},
		"yaml, unknown":      {"t.yaml", "port: 1\nprot: 1\n", "t.yaml, line 2; did you mean port?"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Load(file, nil)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			if err != nil || got.HTTP.Port != 1 || len(got.HTTP.APIKeys) != 2 || got.Requests.QueueTimeout != 5*time.Second {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
