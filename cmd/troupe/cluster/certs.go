package cluster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/actors/cluster/identity"
	"github.com/troupe-engine/troupe/cmd/troupe/cli"
)

const day = 24 * time.Hour

type certs struct {
	dir, cluster string
	days         int
	options      identity.CreateOptions
	asJSON       bool
}

func newCerts() *cobra.Command {
	m := &certs{}
	c := &cobra.Command{
		Use: "certs NODE...", Short: "Make or renew the certificates of nodes",
		Long: "Makes a certificate and a key for each node, in --dir. The first call also makes a CA there, which\n" +
			"signs them; later calls use it. Prints the files and the settings of each node. Copy to a node its\n" +
			"own two files and ca.pem. Keep ca-key.pem elsewhere: with it anyone can make certificates.\n\n" +
			"With --force it renews certificates. The keys stay, so only one file changes on a node, and a\n" +
			"running node uses it without restart.",
		Example: "  troupe cluster certs --dir certs --cluster-name prod gateway1 engine1 engine2\n" +
			"  troupe cluster certs --dir certs --cluster-name prod --force engine1",
		Args: m.check,
		RunE: func(c *cobra.Command, nodes []string) error { return m.run(c, nodes) },
	}
	flags := c.Flags()
	flags.StringVar(&m.dir, "dir", "", "directory for the files; made if it does not exist")
	flags.StringVar(&m.cluster, "cluster-name", "", "name of the cluster, as in the setting of its nodes: lower-case letters, digits and hyphens")
	flags.IntVar(&m.days, "days", int(identity.DefaultValidity/day), "number of days that the certificates are valid")
	flags.StringSliceVar(&m.options.Hosts, "host", nil, "host name or IP address to add to the certificates. Nodes do not check it; HTTPS clients do, if the API uses the certificate (tls-cert). Give it again when you renew")
	flags.BoolVar(&m.options.Force, "force", false, "replace certificates that exist. Keys and the CA are never replaced")
	flags.BoolVar(&m.asJSON, "json", false, "print JSON")
	return c
}

// check refuses a command line without the names that it needs.
func (m *certs) check(_ *cobra.Command, nodes []string) error {
	most := int(identity.MaxValidity / day)
	switch {
	case m.dir == "":
		return errors.New("--dir is missing; give a directory for the certificates, for example --dir certs")
	case m.cluster == "":
		return errors.New("--cluster-name is missing; give the name of the cluster, for example --cluster-name prod")
	case m.days < 1 || m.days > most:
		return fmt.Errorf("--days is %d; it must be between 1 and %d", m.days, most)
	case len(nodes) == 0:
		return errors.New("no nodes are given; give their names, for example troupe cluster certs --dir certs --cluster-name prod gateway1 engine1")
	}
	if err := identity.CheckName(m.cluster); err != nil {
		return fmt.Errorf("--cluster-name: %w", err)
	}
	return nil
}

// made is the result of the command.
type made struct {
	Cluster string    `json:"cluster_name"`
	Files   []written `json:"files"`
	Nodes   []node    `json:"nodes"`
}

// written is a file; a key has no end.
type written struct {
	Path    string     `json:"path"`
	Expires *time.Time `json:"expires,omitempty"`
}

// node has the settings of a node.
type node struct {
	Name string `json:"name"`
	CA   string `json:"cluster-tls-ca"`
	Cert string `json:"cluster-tls-cert"`
	Key  string `json:"cluster-tls-key"`
}

func (m *certs) run(c *cobra.Command, nodes []string) error {
	m.options.Validity = time.Duration(m.days) * day
	files, err := identity.Create(m.dir, m.cluster, nodes, m.options)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w; use --force to renew the certificate", err)
	}
	result := made{Cluster: m.cluster}
	for _, f := range files {
		w := written{Path: f.Path}
		if !f.Expires.IsZero() {
			end := f.Expires.UTC()
			w.Expires = &end
		}
		result.Files = append(result.Files, w)
	}
	if err != nil {
		// What was written before the error is there and stays.
		return errors.Join(err, result.printFiles(c.ErrOrStderr()))
	}
	for _, name := range nodes {
		f := identity.FilesOf(m.dir, name)
		result.Nodes = append(result.Nodes, node{name, f.CA, f.Cert, f.Key})
	}
	return cli.Print(c, m.asJSON, result, result.print)
}

func (r *made) printFiles(out io.Writer) error {
	for _, f := range r.Files {
		end := ""
		if f.Expires != nil {
			end = f.Expires.Format(", valid until 2006-01-02 15:04 UTC")
		}
		if _, err := fmt.Fprintf(out, "wrote %s%s\n", f.Path, end); err != nil {
			return err
		}
	}
	return nil
}

// print writes the settings in the form of a config file.
func (r *made) print(out io.Writer) error {
	if err := r.printFiles(out); err != nil {
		return err
	}
	for _, n := range r.Nodes {
		if _, err := fmt.Fprintf(out, "\nSettings of %s:\n  cluster-name: %s\n  cluster-tls-ca: %s\n  cluster-tls-cert: %s\n  cluster-tls-key: %s\n",
			n.Name, r.Cluster, n.CA, n.Cert, n.Key); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\nCopy to each node its own certificate and key, and %s. Do not copy %s to nodes: with it anyone can make certificates.\n",
		r.Nodes[0].CA, filepath.Join(filepath.Dir(r.Nodes[0].CA), "ca-key.pem"))
	return err
}
