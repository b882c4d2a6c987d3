package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// newActions returns the commands that change a node or an actor.
func newActions() (list []*cobra.Command) {
	for _, a := range []struct{ name, short, long, example string }{
		{report.Drain, "Take a node out of service without ending its requests",
			"The node takes no new requests. A gateway finishes its own; an engine hands them over to other engines.\n" +
				"The process goes on. `troupe cluster undrain` ends this state.", "engine-2 --reason \"new kernel\""},
		{report.Undrain, "End a drain: the node takes requests again", "", "engine-2 --reason \"kernel installed\""},
		{report.Stop, "Stop the work of a node; its process goes on",
			"The node drains, and then its engine stops. The process goes on, shows the state stopped, and waits for\n" +
				"`troupe cluster start`.", "engine-2 --reason \"wrong results?\""},
		{report.Start, "Start a stopped or failed node again", "", "engine-2 --reason \"memory replaced\""},
		{report.Restart, "Restart a node's process or one actor",
			"A node drains and then starts its program again, with the same arguments: an engine hands its requests\n" +
				"over, a gateway finishes its own, at the latest after drain-timeout. With NODE/PATH one actor restarts,\n" +
				"and no stream is lost: for an actor of an engine its epoch ends and the next one begins; intake\n" +
				"and observer keep their state; after dispatch or portal requests are submitted again.\n" +
				"`troupe cluster actors` lists the paths.", "engine-2/engine/supervisor/cache --reason \"mailbox grows\""},
		{report.Crash, "Make an actor panic at its next message; for tests, with debug-chaos", "", "engine-2/engine/supervisor/cache --reason test"},
	} {
		list = append(list, newAction(a.name, a.short, a.long, a.example))
	}
	return list
}

func newAction(name, short, long, example string) *cobra.Command {
	var server remote.Server
	var asJSON bool
	ask := &report.Action{Action: name}
	if long != "" {
		long += "\n\n"
	}
	c := &cobra.Command{
		Use: name + " TARGET", Short: short, Example: "  troupe cluster " + name + " " + example, Hidden: name == report.Crash,
		Long: short + ".\n\n" + long + "Prints the result. Who asked, the reason and the result are an event that every node shows.",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return fmt.Errorf("no target is given; give a node, for example troupe cluster %s %s", name, example)
			case len(args) > 1:
				return fmt.Errorf("one target is expected, but %d are given: %s; use one call for each, and quotes for a reason of several words", len(args), strings.Join(args, " "))
			case strings.TrimSpace(ask.Reason) == "":
				return errors.New("--reason is missing; say why, for those who read the events")
			}
			ask.Target = args[0]
			return ask.Check()
		},
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := server.Client()
			if err != nil {
				return err
			}
			document, err := json.Marshal(ask)
			if err != nil {
				return err
			}
			body, err := client.Post(c.Context(), "/v1/cluster/actions", document) // without a time limit: a drain takes its time
			if err != nil {
				return err
			}
			var outcome report.Outcome
			if err := json.Unmarshal(body, &outcome); err != nil {
				return fmt.Errorf("%s is not a Troupe server of this version: its answer cannot be read: %w", server.URL, err)
			}
			return cli.Print(c, asJSON, outcome, func(out io.Writer) error {
				where := outcome.Node
				if outcome.Path != "" {
					where += "/" + outcome.Path
				}
				_, err := fmt.Fprintf(out, "%s: %s\n", logtext.Escape(where), logtext.Escape(outcome.Outcome))
				return err
			})
		},
	}
	server.AddFlags(c.Flags(), remote.DefaultURL)
	c.Flags().StringVar(&ask.Reason, "reason", "", "why; required, at most 500 bytes")
	c.Flags().BoolVar(&ask.Force, "force", false, "do it even if the model then has no engine left")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
