package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/configs"
)

// The page for operators quotes errors, events and lines of the log. Who searches for a
// text must find it there, so the quotes follow the texts.
func TestClusterPageQuotesRealTexts(t *testing.T) {
	page, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile("testdata/texts.txt")
	if err != nil {
		t.Fatal(err)
	}
	// What texts contain of numbers and names, and where one text ends in another.
	variable := regexp.MustCompile(`…|ADDRESS|TROUPE_SERVICE_HOST|"[^"]*"|\b\d[\d.:ms]*|: |; |^no | has been available|other weights|requests have moved|draining`)
	// Of Go, and a code of the API.
	foreign := []string{"client didn't provide a certificate", "address already in use", "not_in_service"}
	checked := 0
	for _, heading := range []string{"### When a connection is refused", "## Troubleshooting"} {
		_, section, _ := strings.Cut(string(page), heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for line := range strings.Lines(section) {
			cells := strings.Split(line, "|")
			if len(cells) < 4 {
				continue
			}
			for _, quote := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
				for _, fragment := range variable.Split(quote[1], -1) {
					fragment = strings.Trim(fragment, " (,;")
					if len(fragment) < 6 || slices.Contains(foreign, fragment) {
						continue
					}
					checked++
					if !strings.Contains(string(all), fragment) {
						t.Errorf("%s: no text has %q, of `%s`", heading, fragment, quote[1])
					}
				}
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d parts of texts were found", checked)
	}
}

func TestClusterPageHasEverySetting(t *testing.T) {
	page, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| setting | default | meaning |")
	table, _, _ = strings.Cut(table, "\n\n")
	var documented, settings []string
	for _, key := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllStringSubmatch(table, -1) {
		for _, name := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(key[1], -1) {
			documented = append(documented, name[1])
		}
	}
	for _, v := range configs.Default().Values() {
		if strings.HasPrefix(v.Key, "cluster-") || v.Key == "node-name" {
			settings = append(settings, v.Key)
		}
	}
	slices.Sort(documented)
	slices.Sort(settings)
	if !slices.Equal(documented, settings) {
		t.Errorf("documented are %q, settings are %q", documented, settings)
	}
}
