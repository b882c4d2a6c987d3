// Package archtest keeps the structure of the repository by tests: who may
// import whom, package comments and file sizes. Each failure says which rule
// was broken and why the rule is there.
package archtest
