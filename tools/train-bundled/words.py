"""Word lists of the story world. Order matters: every sixth of eight items is held out."""


def split(text):
    return [w.strip().replace("_", " ") for w in text.split()]


GIRLS = split("""Mia Anna Lily Sara Emma Nora Rosa Clara Ivy Ella Lucy Maya Zoe Ruth Alice Tess June Hana Vera
Dora Nina Elsa Greta Holly Daisy Kate Leila Molly Olive Penny Tara Wendy Yara Amy Bella Carla Eva Fay Gina Iris""")
BOYS = split("""Tom Ben Max Sam Leo Jack Finn Noah Omar Otto Peter Hugo Adam Felix Hans Ravi Theo Luke Ali Dan
Eric Frank George Henry Ivan Jonas Karl Liam Marco Nico Oscar Paul Rob Simon Tim Victor Will Yusuf Zack Bruno""")
PET_NAMES = split("""Pip Bubbles Coco Dot Fluffy Ginger Biscuit Patch Pepper Rusty Smoky Sunny Tiny Toffee Whiskers
Ziggy Button Mango Nibbles Pebble Poppy Scout Socks Waffles Bramble Clover Honey Jasper Muffin Noodle Olly Tuppence""")
ANIMALS = split("""cat dog rabbit fox mouse owl bear hedgehog duck frog squirrel pony lion badger turtle elephant
penguin sheep goat otter hen kitten puppy monkey bee snail donkey pig parrot deer swan wolf tiger mole beaver
robin crow lamb seal koala panda ant camel goose""")
BEINGS = split("""dragon robot wizard giant pirate dwarf princess snowman fairy king mermaid baker queen farmer
sailor teapot star cloud train boat painter gardener clockmaker teacher prince knight miller fisherman tailor
ghost scarecrow kite lighthouse moon balloon tree tractor shoemaker doctor""")
ADJ_HERO = split("""little small brave kind shy clever curious gentle quiet cheerful young lonely playful lazy
careful friendly proud tiny funny sleepy busy polite stubborn happy thoughtful honest""")
ADJ_THING = split("""red blue old new shiny striped yellow wooden golden soft small big silver round strange pretty
heavy warm purple orange white dusty broken painted green tiny""")
THINGS = split("""ball hat book kite key drum lamp spoon scarf coin boat cup ring box bell button toy_train blanket
basket bag teddy_bear umbrella flute whistle mirror doll necklace watch paintbrush map feather stone shell ribbon
bucket candle glove pencil""")
PLACES = split("""forest garden park river village meadow beach market farm lake school bridge mountain barn library
castle town hill field pond harbour orchard island valley kitchen playground bakery mill station museum""")
SPOTS = [s.replace("_", " ") for s in split("""under_the_bed behind_the_door in_the_tall_grass on_the_roof
under_a_bush beside_the_well in_an_old_boot behind_the_oven inside_a_basket near_the_fence under_a_pile_of_leaves
behind_a_rock in_the_attic on_a_high_branch under_the_table next_to_the_gate at_the_bottom_of_the_stairs
between_two_stones in_a_muddy_puddle on_the_window_sill behind_the_curtain under_the_bridge in_the_hen_house
inside_the_cupboard""")]
FOODS = split("""bread soup cake apples cheese pancakes honey berries pie porridge carrots cookies nuts noodles
plums rice pears jam muffins stew corn sandwiches cherries pudding""")
WEATHER = ["sunny", "rainy", "windy", "cold", "warm", "foggy", "snowy", "bright", "cloudy", "stormy", "quiet", "hot",
           "grey", "frosty"]
TIMES = ["morning", "evening", "afternoon", "day", "night", "summer morning", "winter day", "spring afternoon",
         "autumn evening", "Sunday", "Monday morning", "Saturday"]
GLAD = split("""happy glad proud excited delighted pleased cheerful relieved joyful thankful calm hopeful""")
SAD = split("""sad worried scared upset lonely gloomy tired cross sorry nervous ashamed afraid""")
SKILLS = [s.replace("_", " ") for s in split("""swim ride_a_bike play_the_flute climb_trees dance sew sing bake_bread
paint skate tie_knots whistle juggle fly_a_kite row_a_boat jump_rope catch_fish write_letters read count_to_a_hundred
cook_soup build_a_wall ski draw_horses""")]
FAMILY = split("""mother father grandmother grandfather aunt cousin brother uncle sister""")
FLOWERS = split("""rose tulip sunflower daisy bean pumpkin tomato apple_tree lily cherry_tree strawberry potato
violet pea cabbage""")
VEHICLES = split("""boat train bus cart bicycle sled raft balloon wagon ship tram""")
NOISES = split("""loud soft strange squeaky tiny rough funny clear humming deep""")
ADVERBS = split("""quickly slowly quietly carefully gently eagerly bravely softly politely happily proudly""")
SOUNDWORDS = ["a splash", "a thump", "a tiny cry", "a bell", "somebody singing", "a crash", "a knock at the door",
              "footsteps", "a whisper", "a loud roar", "music", "a sneeze"]
COLOURS = split("red blue green yellow white pink black purple orange brown grey")
GAMES = ["hide and seek", "chess", "football", "tag", "cards", "checkers", "a guessing game", "marbles", "catch",
         "leapfrog"]

LISTS = {
    "girl": GIRLS, "boy": BOYS, "pet": PET_NAMES, "animal": ANIMALS, "being": BEINGS, "adj": ADJ_HERO,
    "athing": ADJ_THING, "thing": THINGS, "place": PLACES, "spot": SPOTS, "food": FOODS, "weather": WEATHER,
    "time": TIMES, "glad": GLAD, "sad": SAD, "skill": SKILLS, "family": FAMILY, "plant": FLOWERS,
    "vehicle": VEHICLES, "noise": NOISES, "adverb": ADVERBS, "sound": SOUNDWORDS, "colour": COLOURS, "game": GAMES,
}
