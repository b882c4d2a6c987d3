"""Chats of one or more turns, as lists of (role, text)."""
import facts as f
import questions
import smalltalk as s
from grammar import tidy
from stories import made_up, story
from wide import QUESTIONS, sentence

STORY_Q = ["Tell me a story about {x}.", "Tell me a story about {x}", "Can you tell me a story about {x}?", "I want to hear a story about {x}.", "Write a story about {x}.", "Please tell me a story about {x}", "Do you know a story about {x}?",
           "A story about {x}, please.", "Write me a short story about {x}.", "Could you make up a story about {x}?", "Once more, a story about {x}!", "Tell me about {x} in a story."]
STORY_ANY = ["Tell me a story.", "Tell me a story", "Do you know a story?", "Another story, please!", "I want to hear a story.", "Write a story.", "Can you tell me a bedtime story?", "Story time!", "Please tell me something nice.", "Tell me a short story.",
             "One more story!", "Make up a story."]
ABOUT = {  # theme -> what a user may ask a story about
    "lost": ["a lost {T}", "something lost"], "storm": ["a storm", "the rain", "bad weather"], "learn": ["someone who learns to {S}", "learning", "school"],
    "hurt": ["a hurt animal", "helping others", "kindness"], "find": ["a treasure", "a strange thing"], "share": ["sharing", "hunger", "food"],
    "plant": ["a seed", "a flower", "patience"], "dark": ["the night", "a ghost in the house", "fear"], "trip": ["a journey", "the sea", "an adventure"],
    "race": ["a race", "sports", "winning"], "break": ["the truth", "something broken"], "gift": ["a birthday", "a gift", "a party"],
    "friend": ["two friends", "friendship", "love"], "work": ["hard work", "a shop"], "wish": ["magic", "three wishes", "a dream"]}
POEM_Q = ["Write a poem about {x}.", "Tell me a poem about {x}", "Can you write a poem about {x}?", "I would like a poem about {x}.", "Write a short poem about {x}", "Make a rhyme about {x}.", "A poem about {x}, please!"]
POEM_A = ["{x} went out to see the sun, and said that this was lots of fun.", "{x} was sitting in a tree, as {adj} as {he} could be.", "{x} is {weather}, {x} is new, and {x} has a friend like you.", "{x} had a {athing} hat, and on the hat there was a cat.",
          "{x} came by one {weather} day, and did not want to go away.", "{x} was dancing in the rain, and then it danced back home again."]
POEM_B = ["The moon came up, the wind was low, and nobody had far to go.", "The {animal} laughed, the {animal} sang, and somewhere far a small bell rang.", "Then all the stars began to glow, and softly fell the first white snow.", "And when the day was nearly done, they shared some {food} in the sun.",
          "A {colour} bird flew over the hill, and then the world was very still.", "So take my hand and come with me, we will find a boat and cross the sea."]
PETNAME_Q = ["Give me a name for my {animal=y}.", "How should I call my {animal=y}?", "I need a name for a {animal=y}.", "What is a good name for a {animal=y}?", "Can you find a name for my {animal=y}?", "Name my {animal=y}, please."]
PETNAME_A = ["How about {x}?", "I would call it {x}.", "{x} is a nice name for a {y}.", "You could call it {x} or {z}.", "What do you think of {x}?", "My favourite name is {x}. Does your {y} like it?"]
INTRO = ["", "", "", "Here is a story. ", "Gladly! ", "All right. ", "I know one. ", "Listen. ", "Of course! ", "Sure. "]


def name(g):
    roll = g.rng.random()
    return made_up(g).capitalize() if roll < 0.25 else g.pick(g.words["girl"] if roll < 0.6 else g.words["boy"])


def small(g, pair, **bind):
    bind = {"a": "a", **bind}
    return g.say(pair[0], dict(bind)), tidy(g.fill(g.pick(pair[1]), dict(bind)))


def echo(g):
    roll = g.rng.random()
    x = made_up(g) if roll < 0.2 else g.fill("[{thing}|{adj} {animal}|I like {food}|the {being} is {glad}|hello|this is a test|good {time}|{colour} {thing}]")
    return small(g, s.SAY, X=x)


def unknown(g):
    roll = g.rng.random()
    x = made_up(g) if roll < 0.3 else g.fill("[{being} {thing}s|the {thing} of {place}s|{colour} {vehicle}s|{food} and {thing}s]") if roll < 0.4 else g.pick(f.TOPICS)
    return small(g, s.UNKNOWN, X=x)


def story_request(g):
    roll = g.rng.random()
    short = g.chance(0.4)
    if roll < 0.1:
        theme = g.pick(list(ABOUT))
        bind = {"T": g.fill("{athing} {thing}"), "S": g.pick(g.words["skill"])}
        about = g.fill(g.rng.choice(ABOUT[theme]), bind)
        text = story(g, theme=theme, thing=bind["T"], skill=bind["S"], short=short)
        return tidy(g.fill(g.pick(STORY_Q), {"x": about})), tidy(g.pick(INTRO) + text)
    if roll < 0.25:
        return g.fill(g.pick(STORY_ANY)), tidy(g.pick(INTRO) + story(g, short=short))
    if roll < 0.7:
        kind = made_up(g) if g.chance(0.06) else g.pick(g.words["animal"] if g.chance(0.6) else g.words["being"])
        who = name(g) if g.chance(0.1) else None
        about, text = ("a " + kind + (" named " + who if who else "")), story(g, kind=kind, name=who, short=short)
    elif roll < 0.8:
        thing = g.fill("{athing} {thing}")
        about, text = "a " + thing, story(g, thing=thing, short=short)
    elif roll < 0.9:
        place = g.pick(g.words["place"])
        about, text = g.rng.choice(("a ", "the ")) + place, story(g, place=place, short=short)
    else:
        kind = g.rng.choice(("girl", "boy"))
        about = made_up(g).capitalize() if g.chance(0.2) else g.pick(g.words[kind])
        text = story(g, name=about, kind=kind, short=short)
    return tidy(g.fill(g.pick(STORY_Q), {"x": about})), tidy(g.pick(INTRO) + text)


def poem(g):
    x = g.pick(g.words[g.rng.choice(("animal", "being", "thing"))])
    first = tidy(g.fill(g.pick(POEM_A), {"x": "the " + x, "he": "it"}))
    return tidy(g.fill(g.pick(POEM_Q), {"x": g.rng.choice(("a ", "the ")) + x})), first + " " + tidy(g.fill(g.pick(POEM_B)))


def pet_name(g):
    bind = {"x": g.pick(g.words["pet"]), "z": g.pick(g.words["pet"])}
    return g.say(PETNAME_Q, bind), tidy(g.fill(g.pick(PETNAME_A), bind))


SMALL = [s.GREET, s.HOW, s.WHO, s.ABLE, s.MADE, s.LIKE, s.THANKS, s.PRAISE, s.SADU, s.GLADU, s.HUH, s.CANNOT, s.ODD]


def exchange(g):
    """One question and its answer."""
    roll = g.rng.random()
    if not g.held and g.chance(0.06):
        return sentence(g, QUESTIONS), tidy(g.fill(g.pick(g.rng.choice((s.ODD, s.ODD, s.HUH, s.CANNOT))[1]), {"a": "a"}))
    if roll < 0.30:
        return small(g, g.rng.choice(SMALL))
    if roll < 0.62:
        return g.rng.choice(questions.KINDS)(g)
    if roll < 0.72:
        return unknown(g)
    if roll < 0.90:
        return story_request(g)
    return g.rng.choice((poem, pet_name, echo))(g)


def scuff(g, text):
    """User text as people type it: lower case, no full stop, a slip of the finger."""
    if g.chance(0.2):
        text = text.lower()
    if g.chance(0.2):
        text = text.rstrip(".!?")
    elif g.chance(0.05):
        text += g.rng.choice(("!", "?", "!!", "...", " :)"))
    if g.chance(0.06) and len(text) > 8:
        i = g.rng.randrange(1, len(text) - 2)
        text = text[:i] + text[i + 1] + text[i] + text[i + 2:]
    return text


def chat(g):
    """A chat; about half have one turn, long ones have up to eight."""
    turns = []
    if g.chance(0.12):
        turns.append(("system", g.pick(s.SYSTEM)))
    count = g.rng.choice((1, 1, 1, 1, 1, 2, 2, 3, 4, 8))
    known, told = None, False
    for i in range(count):
        if i == 0 and g.chance(0.15 if count == 1 else 0.35):
            pair = small(g, s.GREET)
        elif known is None and g.chance(0.08):
            known = name(g)
            pair = small(g, s.NAMEIS, X=known)
        elif i and known and g.chance(0.35):
            pair = small(g, s.MYNAME, X=known)
        elif known is None and g.chance(0.015):
            pair = small(g, (s.MYNAME[0], s.NONAME))
        elif i and i == count - 1 and g.chance(0.4):
            pair = small(g, s.BYE if g.chance(0.6) else s.THANKS)
        elif told and g.chance(0.35):
            pair = small(g, s.NEXT)
        else:
            pair = exchange(g)
        told = len(pair[1]) > 250
        turns += [("user", scuff(g, pair[0])), ("assistant", pair[1])]
    return turns
