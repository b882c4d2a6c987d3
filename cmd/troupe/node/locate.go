package node

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/model/config"
)

// Fetching is how a command shows that a model is downloaded.
type Fetching struct {
	Progress func(model string, p hub.Progress) // nil: not shown
	Warn     func(text string)                  // nil: not shown
}

// Hub returns a client of the hub with the environment's settings.
func (f Fetching) Hub(model string) (*hub.Hub, error) {
	home, _ := os.UserHomeDir() // "" if there is none
	env, err := hub.FromEnvironment(os.LookupEnv, home)
	if err != nil {
		return nil, err
	}
	opt := hub.Options{Environment: env, Warn: f.Warn, Check: checkArchitecture}
	if f.Progress != nil {
		opt.Progress = func(p hub.Progress) { f.Progress(model, p) }
	}
	return hub.New(opt), nil
}

// checkArchitecture refuses a model that cannot be served before its weights are downloaded.
func checkArchitecture(directory string) error {
	_, err := config.Load(os.DirFS(directory), config.Options{})
	return err
}

// locate finds the setting model on this machine: the path itself, or a model of the hub,
// which is downloaded unless the cache has it. name is its name in the API, "" for that of
// the path.
func (f Fetching) locate(ctx context.Context, c *configs.Config) (path, name string, err error) {
	wanted := c.Model
	if _, err := os.Stat(wanted); err == nil {
		return wanted, "", nil
	}
	if target := c.Alias(wanted); target != "" {
		name = wanted
		wanted = target
		if _, err := os.Stat(target); err == nil || !hub.IsName(target) {
			return target, name, nil
		}
	}
	if !hub.IsName(wanted) {
		return wanted, "", nil // whose error says what is wrong with the path
	}
	n, err := hub.Parse(wanted)
	if err != nil {
		return "", "", err
	}
	client, err := f.Hub(n.String())
	if err != nil {
		return "", "", err
	}
	pulled, err := client.Pull(ctx, n)
	if err != nil {
		return "", "", fmt.Errorf("no file or directory %s exists, and it cannot be downloaded from the hub: %w", wanted, err)
	}
	return pulled.Path, cmp.Or(name, n.String()), nil
}
