package node

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Texts returns what a gateway needs of the model, for ModelFromTexts, and its hash. It
// reads the model's files again. Of this node's settings, only chat-template and the parsers count.
func (n *Node) Texts() (data []byte, hash string, err error) {
	c := n.Config()
	files, err := n.files.Texts()
	if err != nil {
		return nil, "", c.Explain(configs.About(err, "model"))
	}
	g := &n.Checkpoint.Config.Generation
	t := &wire.Texts{Files: files, Eos: n.EOS(), Recommended: &wire.Recommended{
		DoSample: g.DoSample, Temperature: g.Temperature, TopP: g.TopP, TopK: g.TopK, MinP: g.MinP, RepetitionPenalty: g.RepetitionPenalty,
	}, ToolCallParser: c.ToolParser, ReasoningParser: c.ReasoningParser}
	if c.ChatTemplate != "" {
		if t.ChatTemplate, err = templateText(c.ChatTemplate); err != nil {
			return nil, "", c.Explain(configs.About(err, "chat-template"))
		}
	}
	if data, hash, err = wire.EncodeTexts(t); err != nil {
		return nil, "", fmt.Errorf("model %s: %w", n.Name, err)
	}
	return data, hash, nil
}

// ModelFromTexts makes the model of a gateway from what an engine says about it, m, and
// from the texts that an engine has sent, whose hash is m.Texts. Nothing of it is trusted.
// The caller sets Created and Fingerprint. It takes up to a second for a large vocabulary.
//
// c are the gateway's settings: of those about models, sampling-defaults and
// special-tokens-in-messages count. The chat template and the parsers are the engine's.
func ModelFromTexts(data []byte, m *wire.Model, c *configs.Config) (httpapi.Model, error) {
	if err := checkModel(m); err != nil {
		return httpapi.Model{}, err
	}
	t, err := wire.DecodeTexts(data, m.Texts)
	if err != nil {
		return httpapi.Model{}, fmt.Errorf("model %s: %w", m.Name, err)
	}
	tok, err := model.Texts(t.Files).Tokenizer()
	if err != nil {
		return httpapi.Model{}, fmt.Errorf("model %s: %w", m.Name, err)
	}
	if err := checkVocabulary(m.Name, tok, int(m.Vocab)); err != nil {
		return httpapi.Model{}, err
	}
	if err := checkSpecialTokens(m.Name, tok, c); err != nil {
		return httpapi.Model{}, err
	}
	for _, id := range t.Eos {
		if id < 0 || int64(id) >= m.Vocab {
			return httpapi.Model{}, fmt.Errorf("model %s: token %d, which ends an output, is outside the vocabulary of %d tokens", m.Name, id, m.Vocab)
		}
	}
	defaults, err := recommended(t.Recommended, c)
	if err != nil {
		return httpapi.Model{}, fmt.Errorf("model %s: %w", m.Name, err)
	}
	template, fault := textsTemplate(t, m.Name, tok)
	var forTools *chat.Template
	if t.ChatTemplate == "" && fault == nil {
		forTools, fault = toolTemplate(m.Name, tok)
	}
	format, err := Format(context.Background(), cmp.Or(forTools, template), output.DetectOptions{BOS: tok.BOSText(), EOS: tok.EOSText()}, t.ToolCallParser, t.ReasoningParser)
	if err != nil {
		return httpapi.Model{}, fmt.Errorf("model %s: %w", m.Name, err)
	}
	served := httpapi.Model{
		ID: m.Name, Context: int(m.Context), Tokenizer: tok, Template: template, ToolTemplate: forTools, Format: format, TemplateFault: fault, EOS: t.Eos, Defaults: defaults,
	}
	grammars, fault := newGrammars(m.Name, tok, t.Eos, int(m.Vocab))
	if served.GrammarFault = fault; fault == nil {
		served.Grammars = grammars
	}
	return served, nil
}

// checkModel refuses what no engine says.
func checkModel(m *wire.Model) error {
	switch {
	case m.GetName() == "":
		return fmt.Errorf("a model of an engine has no name")
	case m.Vocab < 1 || m.Vocab > math.MaxInt32:
		return fmt.Errorf("model %s has a vocabulary of %d tokens; it must be between 1 and %d", m.Name, m.Vocab, math.MaxInt32)
	case m.Context < 1 || m.Context > math.MaxInt32:
		return fmt.Errorf("model %s has a context of %d tokens; it must be between 1 and %d", m.Name, m.Context, math.MaxInt32)
	}
	return nil
}

func recommended(r *wire.Recommended, c *configs.Config) (httpapi.SamplingDefaults, error) {
	g := config.Generation{}
	if r != nil {
		g = config.Generation{DoSample: r.DoSample, Temperature: r.Temperature, TopP: r.TopP, TopK: r.TopK, MinP: r.MinP, RepetitionPenalty: r.RepetitionPenalty}
	}
	if err := g.Check(); err != nil {
		return httpapi.SamplingDefaults{}, err
	}
	return samplingDefaults(c, &g), nil
}

// textsTemplate returns the chat template of a model's texts; nil if none.
func textsTemplate(t *wire.Texts, name string, tok *tokenizer.Tokenizer) (*chat.Template, error) {
	from, source := name+" (chat-template)", t.ChatTemplate
	if source == "" {
		from, source = model.Texts(t.Files).ChatTemplate(name), tok.ChatTemplates()["default"]
	}
	if source == "" {
		return nil, nil
	}
	template, err := chat.Parse(from, source)
	if err != nil {
		return nil, fmt.Errorf("%w; start its engines with another one: --chat-template FILE", err)
	}
	return template, nil
}
