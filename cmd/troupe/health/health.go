// Package health is `troupe health`: a probe for containers, which have no other program.
package health

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/lab/serverapi"
)

func New() *cobra.Command {
	var url string
	var live bool
	var timeout time.Duration
	c := &cobra.Command{
		Use: "health", Short: "Check whether a server is ready, as a probe does", Args: cli.NoArgs,
		Long: "Exits with status 0 if /readyz of a server answers 200, otherwise with status 1 and the reason. It needs\n" +
			"no key. It is for images of containers that have no other program; if possible, let probes ask /livez\n" +
			"and /readyz themselves.",
		Example: "  troupe health\n  troupe health --live --url http://127.0.0.1:8000",
		RunE: func(c *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return fmt.Errorf("--timeout is %s; it must be above 0", timeout)
			}
			base, err := serverapi.ParseURL(url)
			if err != nil {
				return fmt.Errorf("--url: %w", err)
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			path, state := "/readyz", "ready"
			if live {
				path, state = "/livez", "live"
			}
			if _, err := (&serverapi.Server{Base: base}).Get(ctx, path, nil); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), state)
			return err
		},
	}
	c.Flags().StringVar(&url, "url", cmp.Or(os.Getenv("TROUPE_URL"), remote.DefaultURL), "address of a running server (or set TROUPE_URL)")
	c.Flags().BoolVar(&live, "live", false, "ask /livez: whether the process answers, ready or not")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return c
}
