// Package keys is `troupe keys`: API keys for the setting api-keys-file.
package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/configs"
)

func New() *cobra.Command {
	c := cli.Group("keys", "Make API keys", newNew())
	c.Long = "Makes API keys for api-keys-file. A server needs only their digests."
	return c
}

// made is a new key.
type made struct {
	Name   string `json:"name"`
	Rights string `json:"rights"`
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
}

func newNew() *cobra.Command {
	var admin, asJSON bool
	c := &cobra.Command{
		Use: "new NAME", Short: "Make an API key",
		Long: "Makes an API key and prints it once, on stderr, with its entry for api-keys-file on stdout.\n" +
			"The entry has the SHA-256 of the key, not the key itself, so the file gives no access to the server.",
		Example: "  echo keys: > keys.yaml\n  troupe keys new alice >> keys.yaml\n  troupe serve --api-keys-file keys.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return errors.New("give one name for the key, for example troupe keys new alice")
			case !configs.KeyName.MatchString(args[0]):
				return fmt.Errorf("the name is %q; it must have 1 to 64 letters, digits, dots, hyphens or underscores, and begin with a letter or digit", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			m := newKey(args[0], admin)
			if asJSON {
				return cli.PrintJSON(c.OutOrStdout(), m)
			}
			if _, err := fmt.Fprintf(c.ErrOrStderr(), "API key of %s, printed only once: %s\n", m.Name, m.Key); err != nil {
				return err
			}
			return m.print(c.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&admin, "admin", false, "give the key the rights admin: it also allows operations that affect all clients")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the key")
	return c
}

func newKey(name string, admin bool) *made {
	var secret [24]byte
	rand.Read(secret[:]) // never fails
	m := &made{Name: name, Rights: "use", Key: "tk-" + base64.RawURLEncoding.EncodeToString(secret[:])}
	if admin {
		m.Rights = "admin"
	}
	sum := sha256.Sum256([]byte(m.Key))
	m.SHA256 = hex.EncodeToString(sum[:])
	return m
}

// print writes the entry of the file.
func (m *made) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "  - name: %s\n    rights: %s\n    sha256: %s\n", m.Name, m.Rights, m.SHA256)
	return err
}
