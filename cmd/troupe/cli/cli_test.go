package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/configs"
)

// Only a config file that cannot be read is called one.
func TestErrorsNameTheConfigFileOnlyIfItIsTheCause(t *testing.T) {
	t.Setenv("TROUPE_CONFIG", "")
	for _, x := range []struct {
		args       []string
		env, wants string
		not        string
	}{
		{[]string{"--api-keys-file", "/nope"}, "", "/nope: no such file or directory; make it with troupe keys new, or unset api-keys-file (flag --api-keys-file)", "config"},
		{[]string{"--config", "/nope"}, "", "config file: open /nope: no such file or directory (flag --config)", "TROUPE_CONFIG"},
		{nil, "/nope", "config file: open /nope: no such file or directory (environment TROUPE_CONFIG)", "--config"},
		{nil, t.TempDir(), "(environment TROUPE_CONFIG)", "--config"},
	} {
		t.Setenv("TROUPE_CONFIG", x.env)
		c := &cobra.Command{}
		c.Flags().String("config", "", "")
		configs.AddFlags(c.Flags())
		if err := c.ParseFlags(x.args); err != nil {
			t.Fatal(err)
		}
		if _, err := Config(c); err == nil || !strings.Contains(err.Error(), x.wants) || strings.Contains(strings.ToLower(err.Error()), strings.ToLower(x.not)) {
			t.Errorf("%q with TROUPE_CONFIG=%q: %v", x.args, x.env, err)
		}
	}
}
