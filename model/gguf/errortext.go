package gguf

import (
	"fmt"
	"strings"
)

// Remedies.
const (
	again      = "the file is damaged; download it again"
	incomplete = "the download is incomplete; download it again"
	either     = "the file is damaged or its download incomplete; download it again"
)

// clip quotes a string of the file for an error text, shortened.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:most], "\uFFFD"))
	}
	return fmt.Sprintf("%q", s)
}
