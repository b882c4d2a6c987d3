package cli

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/configs"
)

func TestACommandIsNotANode(t *testing.T) {
	cfg := configs.Default()
	cfg.Cluster.Role = configs.RoleEngine
	c := &cobra.Command{}
	c.Flags().String("log-level", "", "")
	if o := NodeOptions(c, cfg); o.Config.Cluster.On() || !cfg.Cluster.On() {
		t.Errorf("the command's role is %q, the file's %q", o.Config.Cluster.Role, cfg.Cluster.Role)
	}
}
