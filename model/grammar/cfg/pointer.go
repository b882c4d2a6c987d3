package cfg

import "strings"

var pointerPart = strings.NewReplacer("~", "~0", "/", "~1")

// PointerPart returns a name as a part of a JSON pointer (RFC 6901, section 3).
func PointerPart(name string) string { return pointerPart.Replace(name) }
