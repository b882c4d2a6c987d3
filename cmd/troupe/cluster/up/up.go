// Package up is `troupe cluster up`: it runs a cluster on this machine, each node as a
// process of this binary, and restarts processes that end.
//
// # Parts
//
//	up                 the command
//	plan               names, ports and settings of the nodes
//	keeper             decides when processes start and end: a core without clock
//	cluster, process   carry that out
//	attributes_*       of a process, by operating system
package up

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/configs"
)

// killTime is how long the second signal waits for the end of the nodes that it kills.
const killTime = 3 * time.Second

type up struct {
	gateways, engines, port int
	secure, asJSON          bool
	config                  string // the file of --config
	cores                   int
	terminal                bool // stderr is one
}

func New() *cobra.Command {
	u := &up{cores: runtime.GOMAXPROCS(0), terminal: cli.IsTerminal(os.Stderr)}
	c := &cobra.Command{
		Use: "up [-- SETTING...]", Short: "Run a cluster on this machine: gateways and engines, each a process",
		Long: "Runs a cluster on this machine, on " + host + ", and prints where its nodes are when all are ready. Clients\n" +
			"use any gateway. APIs listen on --port and the following ports, gateways first. Each node listens for\n" +
			"other nodes on a port that is " + fmt.Sprint(apart) + " higher. Settings after -- are for every node; those about the model go\n" +
			"to the engines only. Unless they are given, the engines share the cores and the memory evenly.\n\n" +
			"Log lines of the nodes go to stderr, with their names. A process that ends is restarted; after " + fmt.Sprint(maxRestarts) + "\n" +
			"restarts of one node within a minute the command gives up. SIGINT or SIGTERM ends the gateways, when\n" +
			"their requests are done, and then the engines; a second signal ends everything at once.",
		Example: "  troupe cluster up\n  troupe cluster up --gateways 1 --engines 2 --port 8000 -- --model ./Qwen2.5-0.5B-Instruct\n" +
			"  troupe cluster up --tls --json -- --api-key KEY --max-total-tokens 65536",
		Args: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 0 {
				return fmt.Errorf("cluster up takes no arguments; remove %q, or give settings of the nodes after --", args[0])
			}
			return u.check()
		},
		RunE: func(c *cobra.Command, settings []string) error { return u.run(c, settings) },
	}
	c.SetFlagErrorFunc(afterDash)
	flags := c.Flags()
	flags.IntVar(&u.gateways, "gateways", 2, "number of gateways, which answer clients")
	flags.IntVar(&u.engines, "engines", 3, "number of engines, which compute")
	flags.IntVar(&u.port, "port", 30000, "port of the first gateway; the other nodes use the following ones. 0: any free ports")
	flags.BoolVar(&u.secure, "tls", false, "let the nodes use certificates, made for this run and removed after it")
	flags.BoolVar(&u.asJSON, "json", false, "print one line of JSON when all nodes are ready")
	return c
}

// afterDash explains where a setting of serve belongs.
func afterDash(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		known := pflag.NewFlagSet("", pflag.ContinueOnError)
		configs.AddFlags(known)
		switch name := unknown.GetSpecifiedName(); {
		case own[name]:
			return refuseOwn(name)
		case known.Lookup(name) != nil:
			return fmt.Errorf("--%s is a setting of the nodes; give it after --: troupe cluster up -- --%s VALUE", name, name)
		}
	}
	return c.Parent().FlagErrorFunc()(c, err)
}

func (u *up) check() error {
	highest := 65535 - apart - u.gateways - u.engines + 1
	switch {
	case u.gateways < 1:
		return fmt.Errorf("--gateways is %d; it must be at least 1", u.gateways)
	case u.engines < 1:
		return fmt.Errorf("--engines is %d; it must be at least 1", u.engines)
	case u.gateways > maxNodes || u.engines > maxNodes || u.gateways+u.engines > maxNodes:
		return fmt.Errorf("--gateways %d and --engines %d are too many nodes for one machine; at most %d together are allowed", u.gateways, u.engines, maxNodes)
	case u.port < 0 || u.port > highest:
		return fmt.Errorf("--port is %d; it must be between 0 and %d, because the nodes use the ports after it", u.port, highest)
	}
	return nil
}

func (u *up) run(c *cobra.Command, args []string) (err error) {
	began := time.Now()
	now, over := make(chan struct{}), make(chan struct{})
	defer close(over) // the last thing
	list, flags, err := parseSettings(args)
	if err != nil {
		return cli.FlagError(err, flags, "troupe serve")
	}
	cfg, err := u.settings(c, flags)
	if err != nil {
		return err
	}
	nodes, err := u.layout()
	if err != nil {
		return err
	}
	certs := ""
	if u.secure {
		if certs, err = certificates(cfg.Cluster.Name, nodes); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(certs)) }()
	}
	u.complete(nodes, list, cfg, certs)
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	log := cli.Logger(cfg)
	all := newCluster(binary, nodes, cfg.DrainTimeout, &output{to: c.ErrOrStderr()}, log)
	all.allReady = func(nodes []spec) error {
		log.Info().Int("nodes", len(nodes)).Dur("took_ms", time.Since(began)).Msg("the cluster is ready")
		return u.print(c.OutOrStdout(), ready{cfg.Cluster.Name, certs, nodes})
	}
	ctx, end := signal.NotifyContext(c.Context(), syscall.SIGHUP) // the terminal is closed
	defer end()
	release := cli.AtSecondSignal(ctx, sync.OnceFunc(func() {
		close(now)
		select {
		case <-over:
		case <-time.After(killTime):
		}
	}))
	defer release()
	return all.run(ctx, now)
}

// settings reads and checks the settings that the nodes have in common, as an engine
// reads them. It makes no difference which engine.
func (u *up) settings(c *cobra.Command, flags *pflag.FlagSet) (*configs.Config, error) {
	if u.secure {
		for _, key := range []string{"cluster-tls-ca", "cluster-tls-cert", "cluster-tls-key"} {
			if flags.Changed(key) {
				return nil, fmt.Errorf("--tls makes certificates, but --%s names one; remove one of them", key)
			}
		}
	}
	common := spec{Name: "engine-1", Role: configs.RoleEngine, Address: host + ":0"}
	for _, s := range u.settingsOf(&common, nil, configs.Default(), "") {
		if !own[s.name] {
			continue
		}
		if err := flags.Set(s.name, s.value); err != nil {
			return nil, err
		}
	}
	cfg, err := cli.ConfigFrom(c, flags)
	if err != nil {
		return nil, err
	}
	if u.config, err = c.Flags().GetString("config"); err != nil {
		return nil, err
	}
	return cfg, checkFile(cfg)
}

// ready is what the command prints with --json.
type ready struct {
	Cluster string `json:"cluster_name"`
	Certs   string `json:"certs,omitempty"` // directory
	Nodes   []spec `json:"nodes"`
}

func (u *up) print(out io.Writer, r ready) error {
	if u.asJSON {
		return cli.PrintJSONLine(out, r)
	}
	table := cli.Table(0, func(w io.Writer) {
		fmt.Fprintln(w, "NODE\tROLE\tPID\tURL\tCLUSTER ADDRESS")
		for _, n := range r.Nodes {
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", n.Name, n.Role, n.PID, n.URL, n.Address)
		}
	})
	if err := table(out); err != nil {
		return err
	}
	var urls []string
	for _, n := range r.Nodes[:u.gateways] {
		urls = append(urls, n.URL)
	}
	_, err := fmt.Fprintf(out, "Clients use %s. Ctrl-C stops the cluster.\n", strings.Join(urls, " or "))
	return err
}
