// Package archtest tests the structure of the repository: imports, package comments,
// file sizes, and the tables in the docs. Each failure says which rule was broken
// and why the rule exists.
package archtest
