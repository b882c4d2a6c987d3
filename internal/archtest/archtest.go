// Package archtest keeps the structure of the repository by tests: who may
// import whom, package comments, file sizes, and that the list of SGLang's
// behaviours names tests that exist. Each failure says which rule was broken and
// why the rule is there.
package archtest
