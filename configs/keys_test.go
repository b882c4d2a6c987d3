package configs

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// An empty key, for example from an unset variable, would open the server to everyone.
// The error names its source and the remedy.
func TestKeysThatAreGivenAndEmptyEndTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		env  []string
		args []string
		want string // in the error; "" for none
	}{
		"flag":                       {args: []string{"--api-key", ""}, want: "api-key (flag --api-key) is empty"},
		"flag with =":                {args: []string{"--api-key="}, want: "api-key (flag --api-key) is empty"},
		"flag of spaces":             {args: []string{"--api-key", "  "}, want: "api-key (flag --api-key) is empty"},
		"second flag":                {args: []string{"--api-key", "hidden", "--api-key", ""}, want: "api-key (flag --api-key) has an empty key"},
		"first flag":                 {args: []string{"--api-key", "", "--api-key", "hidden"}, want: "api-key (flag --api-key) has an empty key"},
		"flag with a comma":          {args: []string{"--api-key", "hidden,"}, want: "api-key (flag --api-key) has an empty key"},
		"variable":                   {env: []string{"TROUPE_API_KEY="}, want: "api-key (environment TROUPE_API_KEY) is empty"},
		"variable of spaces":         {env: []string{"TROUPE_API_KEY= "}, want: "api-key (environment TROUPE_API_KEY) is empty"},
		"variable with a comma":      {env: []string{"TROUPE_API_KEY=hidden,,x"}, want: "api-key (environment TROUPE_API_KEY) has an empty key"},
		"file":                       {yaml: `api-key: ""`, want: "troupe.yaml, line 1) is empty"},
		"file, an empty list":        {yaml: `api-key: []`, want: "troupe.yaml, line 1) is empty"},
		"file, a list of one":        {yaml: `api-key: [""]`, want: "troupe.yaml, line 1) is empty"},
		"file, in a list":            {yaml: `api-key: [hidden, ""]`, want: "troupe.yaml, line 1) has an empty key"},
		"file, null in a list":       {yaml: `api-key: [hidden, null]`, want: "troupe.yaml, line 1) has an empty key"},
		"file, null":                 {yaml: "api-key:\nport: 1", want: "troupe.yaml has api-key without a value; remove the line"},
		"file, null of an admin":     {yaml: `admin-api-key: ~`, want: "troupe.yaml has admin-api-key without a value"},
		"variable over the file":     {yaml: "api-key: hidden", env: []string{"TROUPE_API_KEY="}, want: "api-key (environment TROUPE_API_KEY) is empty"},
		"flag over all":              {yaml: "api-key: hidden", env: []string{"TROUPE_API_KEY=hidden"}, args: []string{"--api-key", ""}, want: "api-key (flag --api-key) is empty"},
		"admin flag":                 {args: []string{"--admin-api-key", ""}, want: "admin-api-key (flag --admin-api-key) is empty"},
		"admin variable":             {env: []string{"TROUPE_ADMIN_API_KEY="}, want: "admin-api-key (environment TROUPE_ADMIN_API_KEY) is empty"},
		"admin file":                 {yaml: `admin-api-key: ""`, want: "admin-api-key (file"},
		"admin file of spaces":       {yaml: `admin-api-key: "  "`, want: "troupe.yaml, line 1) is empty"},
		"admin, with an api-key":     {yaml: `api-key: hidden`, env: []string{"TROUPE_ADMIN_API_KEY="}, want: "admin-api-key (environment TROUPE_ADMIN_API_KEY) is empty"},
		"overridden by a key":        {yaml: `api-key: ""`, env: []string{"TROUPE_API_KEY=hidden"}},
		"none":                       {},
		"an admin key with commas":   {yaml: `admin-api-key: "hidden,,x"`},
		"a number":                   {yaml: `api-key: [17, 4]`},
		"two flags":                  {args: []string{"--api-key", "hidden", "--api-key", "x,y"}},
		"another list may be empty":  {args: []string{"--cors-origins", ""}},
		"another variable may be so": {env: []string{"TROUPE_CORS_ORIGINS="}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, c.yaml, c.env, c.args...)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want == "":
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("%v, want %s", err, c.want)
			case strings.Contains(c.want, "empty") && !strings.Contains(err.Error(), "give a key"):
				t.Errorf("%v names no remedy", err)
			case strings.Contains(err.Error(), "hidden"):
				t.Errorf("the error shows a key: %v", err)
			}
		})
	}
}

// List flags work like pflag's: repeated, separated by commas, in quotes.
func TestListsOfFlags(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{nil, nil},
		{[]string{"a"}, []string{"a"}},
		{[]string{"a,b", "c"}, []string{"a", "b", "c"}},
		{[]string{`"a,b",c`}, []string{"a,b", "c"}},
	} {
		var args []string
		for _, a := range c.args {
			args = append(args, "--api-key", a)
		}
		config, _, err := load(t, "", nil, args...)
		if err != nil || !slices.Equal(config.HTTP.APIKeys, c.want) {
			t.Errorf("%q gives %q, %v", args, config.HTTP.APIKeys, err)
		}
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if usage := flags.FlagUsages(); !strings.Contains(usage, "--api-key strings ") || strings.Contains(usage, "default []") {
		t.Error("the help shows a list differently from pflag's")
	}
	if err := flags.Set("api-key", `"a`); err == nil {
		t.Error("an open quote is accepted")
	}
}
