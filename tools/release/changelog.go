package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

var heading = regexp.MustCompile(`^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?\s*$`)

// versions are the released versions that a changelog names, the newest first, with a "v".
// It is an error if they are not in order, or not semantic versions with a date.
func versions(text string) ([]string, error) {
	var all []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		if !strings.HasPrefix(line, "## ") {
			continue
		}
		parts := heading.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case parts == nil:
			return nil, fmt.Errorf("line %d: %q is not a version; write \"## [1.2.3] - 2026-01-31\" or \"## [Unreleased]\"", n, strings.TrimSpace(line))
		case parts[1] == "Unreleased":
			if len(all) > 0 {
				return nil, fmt.Errorf("line %d: Unreleased must be the first section", n)
			}
			continue
		case parts[2] == "":
			return nil, fmt.Errorf("line %d: version %s has no date", n, parts[1])
		}
		v := "v" + parts[1]
		if !semver.IsValid(v) || semver.Canonical(v) != v {
			return nil, fmt.Errorf("line %d: %q is not a semantic version; use for example 1.2.3", n, parts[1])
		}
		if len(all) > 0 && semver.Compare(v, all[len(all)-1]) >= 0 {
			return nil, fmt.Errorf("line %d: version %s must be below %s", n, parts[1], all[len(all)-1][1:])
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return nil, errors.New("it names no version")
	}
	return all, nil
}

// agree compares a changelog with the tags of the repository, which may be any texts. A
// changelog may be one version ahead: its tag is made after its commit.
func agree(changelog, tags []string) error {
	tagged := map[string]bool{}
	newest := ""
	for _, t := range tags {
		if !semver.IsValid(t) {
			continue
		}
		if tagged[t] = true; newest == "" || semver.Compare(t, newest) > 0 {
			newest = t
		}
	}
	for i, v := range changelog {
		if newest != "" && i > 0 && !tagged[v] {
			return fmt.Errorf("version %s has no tag; run git tag -a %s COMMIT", v, v)
		}
		delete(tagged, v)
	}
	for t := range tagged {
		return fmt.Errorf("tag %s is not in the changelog; add a section for it", t)
	}
	return nil
}

// checkChangelog checks a changelog, and compares it with the tags if git has any here.
func checkChangelog(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	all, err := versions(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	tags, err := exec.Command("git", "tag", "--list", "v*").Output()
	if err != nil {
		return fmt.Errorf("git tag: %w", err)
	}
	if err := agree(all, strings.Fields(string(tags))); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	here, err := exec.Command("git", "tag", "--list", "v*", "--points-at", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("git tag: %w", err)
	}
	if at := strings.Fields(string(here)); len(at) > 0 && at[len(at)-1] != all[0] {
		return fmt.Errorf("%s: its newest version is %s, but this commit has the tag %s", name, all[0], at[len(at)-1])
	}
	return nil
}
