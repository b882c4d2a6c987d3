package work

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// maxLine is the longest line of a file of questions, in bytes.
const maxLine = 1 << 20

type problem struct {
	Question string
	Answer   string // ends in "#### 42"
}

// GSM8K asks the word problems of the data set (Cobbe et al.: Training Verifiers to Solve
// Math Word Problems, 2021) after shared worked examples, and checks the answers.
type GSM8K struct {
	File string // JSON lines with question and answer
	// Shots is the number of examples in each prompt. They come from ShotsFile, or
	// are the first of File, which are then not asked.
	Shots     int
	ShotsFile string
	Output    int // tokens of an answer at most
}

func (o GSM8K) Open() (*Source, error) {
	if err := cmp.Or(AtLeast(0, o.Shots, "gsm8k-num-shots"), AtLeast(1, o.Output, "gsm8k-output-len")); err != nil {
		return nil, err
	}
	questions, err := readProblems(o.File)
	if err != nil {
		return nil, err
	}
	examples := questions
	if o.ShotsFile != "" {
		if examples, err = readProblems(o.ShotsFile); err != nil {
			return nil, err
		}
		if len(examples) < o.Shots {
			return nil, fmt.Errorf("%s has %d questions, but --gsm8k-num-shots is %d; lower it", o.ShotsFile, len(examples), o.Shots)
		}
	} else {
		if len(questions) <= o.Shots {
			return nil, fmt.Errorf("%s has %d questions, too few for %d examples and questions; lower --gsm8k-num-shots or set --gsm8k-shots-path", o.File, len(questions), o.Shots)
		}
		questions = questions[o.Shots:]
	}
	prefix := ""
	for _, p := range examples[:o.Shots] {
		prefix += asked(p.Question) + " " + p.Answer + "\n\n"
	}
	return &Source{
		Description: fmt.Sprintf("gsm8k: %s, %d examples before each question, at most %d output tokens", o.File, o.Shots, o.Output),
		Size:        len(questions),
		Make: func(index int) (*Session, error) {
			p := questions[index]
			return &Session{
				Turns: []Turn{{Text: prefix + asked(p.Question), MaxTokens: o.Output}}, Stop: []string{"Question:"},
				Check: func(answer string) Verdict { return judge(answer, p.Answer) },
			}, nil
		},
	}, nil
}

func asked(question string) string { return "Question: " + question + "\nAnswer:" }

func readProblems(path string) ([]problem, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist; give a JSON lines file of the GSM8K data set, for example test.jsonl", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	var all []problem
	for n := 1; lines.Scan(); n++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		var p problem
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf(`%s: line %d: expected {"question":"…","answer":"…"}: %w`, path, n, err)
		}
		if _, ok := solution(p.Answer); p.Question == "" || !ok {
			return nil, fmt.Errorf(`%s: line %d: expected a question, and an answer that ends in #### and a number`, path, n)
		}
		all = append(all, p)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s: a line is longer than 1 MiB", path)
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, fmt.Errorf("%s: the file has no questions; give a JSON lines file of the GSM8K data set", path)
	}
	return all, nil
}

// judge compares the last number of an answer with the solution, or, if the
// answer has the mark of the examples, the first number after it.
func judge(answer, truth string) Verdict {
	want, _ := solution(truth)
	got, ok := solution(answer)
	if !ok {
		all := numbers(answer)
		if len(all) == 0 {
			return NoAnswer
		}
		got = all[len(all)-1]
	}
	if got != want {
		return Wrong
	}
	return Right
}

// solution is the number after the mark.
func solution(text string) (float64, bool) {
	_, after, found := strings.Cut(text, "####")
	if all := numbers(after); found && len(all) > 0 {
		return all[0], true
	}
	return 0, false
}

// number is digits, perhaps with commas, decimals and a minus that follows no digit.
var number = regexp.MustCompile(`(?:(?:^|[^0-9])-)?[0-9]+(?:,[0-9]+)*(?:\.[0-9]+)?`)

func numbers(text string) (all []float64) {
	for _, found := range number.FindAllString(text, -1) {
		if n, err := strconv.ParseFloat(strings.ReplaceAll(found[max(strings.LastIndexByte(found, '-'), 0):], ",", ""), 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}
