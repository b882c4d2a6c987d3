package hub

import (
	"fmt"
	"regexp"
	"strings"
)

// Name is a model on the hub.
type Name struct {
	Org, Repo string
	Quant     string // of a GGUF file, such as Q4_K_M, or more of its name; "": the preferred one
	Revision  string // branch, tag or commit; "": main
}

// Repository is ORG/REPO.
func (n Name) Repository() string { return n.Org + "/" + n.Repo }

// String is the name as users write it.
func (n Name) String() string {
	text := n.Repository()
	if n.Quant != "" {
		text += ":" + n.Quant
	}
	if n.Revision != "" {
		text += "@" + n.Revision
	}
	return text
}

func (n Name) revision() string {
	if n.Revision == "" {
		return "main"
	}
	return n.Revision
}

var (
	part     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$`)
	quant    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	revision = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$`)
)

// prefixes are what people copy in front of a name.
var prefixes = []string{"https://huggingface.co/", "https://hf.co/", "huggingface.co/", "hf.co/", "hf://"}

// IsName reports whether a text has the form of a name. The same text may be a path: one
// that exists is meant as a path.
func IsName(text string) bool {
	_, err := Parse(text)
	return err == nil
}

// Parse reads a name.
func Parse(text string) (Name, error) {
	rest := text
	for _, p := range prefixes {
		if cut, ok := strings.CutPrefix(rest, p); ok {
			rest = strings.TrimSuffix(cut, "/")
			break
		}
	}
	var n Name
	rest, rev, hasRev := strings.Cut(rest, "@")
	rest, q, hasQuant := strings.Cut(rest, ":")
	org, repo, ok := strings.Cut(rest, "/")
	n = Name{org, repo, q, rev}
	bad := func(why string) (Name, error) {
		return Name{}, fmt.Errorf("%q is not the name of a model: %s; write ORG/REPO, ORG/REPO:QUANT or ORG/REPO@REVISION, for example Qwen/Qwen2.5-0.5B-Instruct", text, why)
	}
	switch {
	case !ok || !part.MatchString(org) || !part.MatchString(repo):
		return bad("it does not have the form ORG/REPO")
	case strings.Contains(org+"/"+repo, "--") || strings.Contains(org+"/"+repo, ".."):
		return bad("names must not contain -- or ..")
	case strings.HasSuffix(repo, ".gguf") || strings.HasSuffix(repo, ".safetensors"):
		return bad("it looks like the path of a file")
	case strings.HasSuffix(repo, ".") || strings.HasSuffix(repo, "-") || strings.HasSuffix(org, ".") || strings.HasSuffix(org, "-"):
		return bad("names must not end with a dot or a hyphen")
	case hasQuant && !quant.MatchString(q):
		return bad("the quantisation after the colon is not valid")
	case hasRev && (!revision.MatchString(rev) || strings.Contains(rev, "..") || !safePath(rev)): // it is a path below refs
		return bad("the revision after the @ is not valid")
	}
	return n, nil
}
