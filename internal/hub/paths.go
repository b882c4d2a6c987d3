package hub

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const maxPath = 1000 // bytes

// safePath reports whether a path of the hub can be used below a directory, on any system.
func safePath(p string) bool {
	return p != "" && len(p) <= maxPath && path.Clean(p) == p && filepath.IsLocal(filepath.FromSlash(p)) &&
		!slices.ContainsFunc(strings.Split(p, "/"), unsafeName)
}

// device matches names that Windows has for devices, in any directory and with any suffix.
var device = regexp.MustCompile(`(?i)^(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[0-9\x{b9}\x{b2}\x{b3}]) *(\.|$)`)

// unsafeName reports whether a part of a path means something else on some system. Windows
// drops a dot or a space at the end.
func unsafeName(name string) bool {
	return strings.ContainsAny(name, `\:*?"<>|`) || strings.ContainsFunc(name, unicode.IsControl) ||
		strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || device.MatchString(name)
}
