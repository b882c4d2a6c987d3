"""Simple facts for question-answer dialogues. Every sixth of eight entries is held out."""

CAPITALS = [("France", "Paris"), ("Italy", "Rome"), ("Spain", "Madrid"), ("Germany", "Berlin"), ("England", "London"),
            ("Norway", "Oslo"), ("Japan", "Tokyo"), ("China", "Beijing"), ("Russia", "Moscow"), ("Egypt", "Cairo"),
            ("Greece", "Athens"), ("Austria", "Vienna"), ("Portugal", "Lisbon"), ("Chile", "Santiago"),
            ("Sweden", "Stockholm"), ("Finland", "Helsinki"), ("Denmark", "Copenhagen"), ("Poland", "Warsaw"),
            ("Ireland", "Dublin"), ("Hungary", "Budapest"), ("Belgium", "Brussels"), ("Peru", "Lima"),
            ("Canada", "Ottawa"), ("Cuba", "Havana"), ("Kenya", "Nairobi"), ("India", "New Delhi"), ("Turkey", "Ankara"),
            ("Mexico", "Mexico City"), ("Argentina", "Buenos Aires"), ("Nepal", "Kathmandu"), ("Iceland", "Reykjavik"),
            ("Thailand", "Bangkok"), ("the United States", "Washington"), ("Switzerland", "Bern"), ("Australia", "Canberra"),
            ("Brazil", "Brasilia"), ("Vietnam", "Hanoi"), ("Morocco", "Rabat"), ("the Netherlands", "Amsterdam")]
COLOUR_OF = [("grass", "green"), ("the sky", "blue"), ("snow", "white"), ("the sun", "yellow"), ("a tomato", "red"),
             ("a frog", "green"), ("a carrot", "orange"), ("a banana", "yellow"), ("milk", "white"), ("blood", "red"),
             ("coal", "black"), ("chocolate", "brown"), ("a strawberry", "red"), ("a crow", "black"), ("a lemon", "yellow"),
             ("the sea", "blue"), ("a polar bear", "white"), ("a pig", "pink"), ("a pumpkin", "orange"), ("a leaf", "green"),
             ("the night sky", "black"), ("an elephant", "grey"), ("a swan", "white"), ("a cherry", "red"), ("salt", "white"),
             ("a fire engine", "red"), ("wood", "brown"), ("an orange", "orange"), ("gold", "yellow"), ("a plum", "purple")]
OPPOSITES = [("hot", "cold"), ("big", "small"), ("day", "night"), ("up", "down"), ("good", "bad"), ("old", "new"),
             ("fast", "slow"), ("happy", "sad"), ("open", "closed"), ("light", "dark"), ("wet", "dry"), ("high", "low"),
             ("long", "short"), ("rich", "poor"), ("strong", "weak"), ("hard", "soft"), ("left", "right"), ("loud", "quiet"),
             ("full", "empty"), ("early", "late"), ("clean", "dirty"), ("near", "far"), ("first", "last"), ("young", "old"),
             ("yes", "no"), ("thick", "thin"), ("black", "white"), ("love", "hate"), ("win", "lose"), ("brave", "afraid"),
             ("easy", "difficult"), ("heavy", "light"), ("summer", "winter"), ("begin", "end"), ("inside", "outside"), ("push", "pull")]
SOUNDS = [("cat", "meow"), ("dog", "woof"), ("cow", "moo"), ("sheep", "baa"), ("duck", "quack"), ("pig", "oink"),
          ("hen", "cluck"), ("horse", "neigh"), ("lion", "roar"), ("mouse", "squeak"), ("frog", "croak"), ("bee", "buzz"),
          ("owl", "hoo hoo"), ("snake", "hiss"), ("crow", "caw"), ("wolf", "howl"), ("bird", "tweet"), ("donkey", "hee-haw")]
BABIES = [("cat", "kitten"), ("dog", "puppy"), ("cow", "calf"), ("sheep", "lamb"), ("horse", "foal"), ("goat", "kid"),
          ("duck", "duckling"), ("hen", "chick"), ("pig", "piglet"), ("bear", "cub"), ("frog", "tadpole"), ("swan", "cygnet"),
          ("kangaroo", "joey"), ("deer", "fawn"), ("owl", "owlet"), ("goose", "gosling")]
HOMES = [("bee", "a hive"), ("bird", "a nest"), ("fish", "the water"), ("fox", "a den"), ("dog", "a kennel"), ("horse", "a stable"),
         ("spider", "a web"), ("rabbit", "a burrow"), ("snail", "its shell"), ("lion", "the grassland"), ("penguin", "the cold south"),
         ("camel", "the desert"), ("monkey", "the jungle"), ("bear", "a cave"), ("whale", "the sea"), ("beaver", "a lodge"), ("king", "a castle")]
LEGS = [("dog", "four"), ("bird", "two"), ("spider", "eight"), ("bee", "six"), ("fish", "no"), ("horse", "four"), ("cat", "four"),
        ("ant", "six"), ("snake", "no"), ("human", "two"), ("cow", "four"), ("duck", "two"), ("fly", "six"), ("octopus", "no")]
EATS = [("rabbit", "grass and carrots"), ("cat", "fish, meat and mice"), ("cow", "grass"), ("bear", "fish, berries and honey"),
        ("panda", "bamboo"), ("squirrel", "nuts and seeds"), ("lion", "meat"), ("monkey", "fruit and leaves"), ("bird", "seeds and insects"),
        ("horse", "hay, grass and oats"), ("mouse", "seeds, grain and cheese"), ("owl", "mice"), ("whale", "tiny sea animals"), ("dog", "meat and dog food"),
        ("goat", "almost anything green"), ("frog", "flies")]
JOBS = [("baker", "bakes bread and cakes"), ("doctor", "helps people who are ill"), ("teacher", "teaches children at school"),
        ("farmer", "grows food and keeps animals"), ("painter", "paints walls or pictures"), ("tailor", "makes clothes"),
        ("pilot", "flies a plane"), ("cook", "makes meals"), ("gardener", "takes care of plants"), ("sailor", "works on a ship"),
        ("firefighter", "puts out fires"), ("dentist", "takes care of teeth"), ("writer", "writes books"), ("singer", "sings songs"),
        ("builder", "builds houses"), ("fisherman", "catches fish"), ("nurse", "takes care of sick people"), ("miner", "digs for coal or gold"),
        ("judge", "decides what is fair in court"), ("programmer", "writes programs for computers"), ("postman", "brings letters")]
USES = [("a spoon", "eat soup"), ("a knife", "cut things"), ("an umbrella", "stay dry in the rain"), ("a lamp", "make light"),
        ("a key", "open a lock"), ("a broom", "sweep the floor"), ("a pencil", "write and draw"), ("a clock", "tell the time"),
        ("a bed", "sleep"), ("a hammer", "hit nails"), ("a cup", "drink"), ("soap", "get clean"), ("a book", "read"), ("a brush", "paint"),
        ("a chair", "sit"), ("a needle", "sew"), ("a map", "find the way"), ("a boat", "cross the water"), ("scissors", "cut paper"), ("a phone", "talk to people far away"),
        ("a fridge", "keep food cold"), ("an oven", "bake bread"), ("a ladder", "climb up high"), ("a ruler", "measure things"), ("a computer", "write, play and work")]
DEFINITIONS = [
    ("a river", "a long stream of water that flows to the sea"), ("a mountain", "a very high hill made of rock"), ("a friend", "someone who likes you and helps you"),
    ("rain", "water that falls from the clouds"), ("snow", "frozen water that falls from the sky in soft white flakes"), ("a library", "a place where you can read and borrow books"),
    ("the moon", "a big ball of rock that goes around the earth"), ("the sun", "a very hot star that gives us light and warmth"), ("a star", "a hot ball of gas far away in the sky"),
    ("a forest", "a place with a lot of trees"), ("an island", "land with water all around it"), ("a desert", "a dry place with a lot of sand and little rain"),
    ("a tree", "a tall plant with a trunk, branches and leaves"), ("a cat", "a soft animal with whiskers that likes milk, naps and mice"), ("a dog", "a friendly animal that barks and likes to play"),
    ("a computer", "a machine that follows instructions very fast"), ("a story", "words that tell what happened to someone"), ("a school", "a place where children learn"),
    ("a word", "a group of letters that means something"), ("music", "sounds that are nice to listen to"), ("a family", "a group of people who belong together"), ("wind", "air that moves"),
    ("ice", "water that is so cold that it is hard"), ("fire", "something hot and bright that burns"), ("a question", "something you say when you want to know something"),
    ("a dream", "a story your mind tells you while you sleep"), ("love", "a warm feeling for someone who is dear to you"), ("a language model", "a program that guesses the next word again and again"),
    ("a token", "a small piece of text, like a word or a part of a word"), ("a cloud", "a lot of tiny drops of water in the sky"), ("a volcano", "a mountain that can spit hot rock"),
    ("an actor", "someone who plays a role, or a part of a program with its own mailbox"), ("a book", "many pages with words or pictures"), ("money", "what people use to buy things"), ("the sea", "a very big place full of salt water"),
    ("an apple", "a round fruit that grows on a tree"), ("a robot", "a machine that can move and do work"), ("a bridge", "a way over water or over a road"), ("a city", "a place with many houses and many people"), ("a secret", "something that you do not tell everybody"),
]
WHYS = [
    ("is the sky blue", "the air spreads the blue light of the sun more than the other colours"), ("do birds fly south", "it is warmer there in winter"), ("do we sleep", "our body and our mind need rest"),
    ("is the sea salty", "rivers carry salt from the rocks into it"), ("do cats purr", "they feel safe and happy"), ("do leaves fall in autumn", "trees save water and strength for the winter"),
    ("do we eat", "our body needs energy to live and grow"), ("is snow white", "it reflects all the colours of light"), ("do dogs bark", "they want to tell us something"),
    ("does it rain", "the drops in the clouds become too heavy"), ("do we have two eyes", "two eyes help us to see how far away things are"), ("is ice slippery", "there is a thin layer of water on it"),
    ("do people laugh", "something is funny or they are happy"), ("do bees visit flowers", "they collect nectar to make honey"), ("is the grass green", "there is something green in it that catches light"),
    ("do we need water", "our body is mostly made of it"), ("do stars twinkle", "the air bends their light a little"), ("do we brush our teeth", "it keeps them clean and healthy"),
]
SIZES = ["flea", "ant", "bee", "mouse", "bird", "cat", "dog", "sheep", "pig", "lion", "horse", "cow", "elephant", "whale"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
GROUPS = {
    "fruits": ["apple", "pear", "plum", "cherry", "banana", "grape", "orange", "peach", "lemon", "melon", "kiwi", "mango"],
    "animals": ["cat", "dog", "horse", "lion", "bear", "fox", "owl", "rabbit", "duck", "frog", "wolf", "goat", "mouse", "tiger"],
    "colours": ["red", "blue", "green", "yellow", "orange", "purple", "pink", "brown", "white", "black"],
    "vegetables": ["carrot", "potato", "cabbage", "pea", "onion", "tomato", "corn", "bean", "spinach", "pumpkin"],
    "birds": ["robin", "crow", "owl", "swan", "duck", "eagle", "parrot", "penguin", "sparrow", "goose"],
    "countries": ["France", "Spain", "Italy", "Japan", "Brazil", "Kenya", "Norway", "India", "Canada", "Greece"],
    "sports": ["football", "tennis", "swimming", "running", "skiing", "chess", "basketball", "rowing", "cycling"],
    "jobs": ["baker", "teacher", "doctor", "farmer", "painter", "sailor", "cook", "pilot", "nurse", "builder"],
    "flowers": ["rose", "tulip", "daisy", "lily", "sunflower", "violet", "poppy", "orchid"],
    "drinks": ["water", "milk", "tea", "coffee", "juice", "lemonade", "hot chocolate"],
    "planets": ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"],
    "instruments": ["piano", "flute", "drum", "violin", "guitar", "trumpet", "harp", "cello"],
}
JOKES = [
    ("Why did the {animal} cross the road?", "To see what was on the other side!"), ("What do you call a sleeping {animal}?", "Nothing, or you will wake it up!"),
    ("What is {colour} and goes up and down?", "A {colour} tomato in a lift!"), ("Why is the {animal} so bad at {game}?", "Because it is always thinking about {food}!"),
    ("Why did the clock go to school?", "It wanted to learn the time!"), ("What did one wall say to the other?", "See you at the corner!"),
    ("Why was the book so sad?", "It had too many problems on its mind!"), ("What has four legs and cannot walk?", "A table!"), ("What gets wetter the more it dries?", "A towel!"),
    ("Why did the cookie see a doctor?", "It felt crumby!"), ("What has hands but cannot clap?", "A clock!"), ("How do you make a {animal} laugh?", "You show it a {being} in a {colour} hat!"),
    ("What did the {thing} say to the {thing}?", "Nothing. Things cannot talk!"), ("Why did the {being} bring a ladder?", "The prices at the {place} were too high!"),
    ("What has many keys but opens no door?", "A piano!"), ("Why do {animal} families never get lost?", "They always ask the {being}!"), ("What did the token say to the model?", "You always know what comes next!"),
]
HOWTO = [
    ("make tea", "First boil some water. Then put the tea into a cup, pour the hot water over it and wait for three minutes."), ("make a sandwich", "Take two slices of bread. Put butter and cheese on one of them and put the other one on top."),
    ("plant a seed", "Dig a small hole, put the seed in, cover it with earth and give it some water every day."), ("wash my hands", "Wet your hands, rub them with soap for twenty seconds, and then dry them with a towel."),
    ("make a friend", "Say hello, smile, ask a question and listen to the answer."), ("fall asleep", "Turn off the light, close your eyes, breathe slowly and think of something nice."),
    ("boil an egg", "Put the egg into boiling water and wait for seven minutes. Then cool it under cold water."), ("draw a cat", "Draw a circle for the head, two triangles for the ears, and then add eyes, a nose and whiskers."),
    ("learn a language", "Learn a few words every day, speak as often as you can, and do not be afraid of mistakes."), ("stay healthy", "Eat fruit and vegetables, drink water, move every day and sleep enough."),
    ("clean my room", "Start with the things on the floor. Put each thing in its place, then wipe the table and open the window."), ("write a story", "Think of a hero, give the hero a problem, and tell how it is solved."),
    ("make pancakes", "Mix flour, milk and eggs. Then bake thin cakes of it in a hot pan with some butter."), ("be happy", "Do something kind, spend time with friends, and be thankful for small things."),
    ("catch a fish", "Put a worm on a hook, throw it into the water, and wait quietly."), ("build a snowman", "Roll three balls of snow, put them on top of each other, and add a carrot for the nose."),
    ("save money", "Buy only what you need, and put a few coins aside every week."), ("train a dog", "Use short words, be patient, and give your dog a small treat when it does well."),
]
TOPICS = """quantum physics|taxes|the stock market|politics|football results|chemistry|the weather in Rome|my homework|philosophy|black holes|cars|your favourite film|
law|medicine|world history|the news|car engines|space travel|algebra|geometry|old poems|Greek gods|economics|Python|programming|databases|neural networks|computer chips|
the Romans|dinosaurs|biology|the internet|video games|fashion|insurance|movies|the president|train times|my computer|electricity|bitcoin|sailing ships|the ocean floor|modern art|
opera|Shakespeare|gravity|atoms|energy|vaccines|marketing|architecture|grammar|Latin|the pyramids|climate change|rockets|genetics|cooking for fifty people|wine|golf|cricket|tennis|
Go|Rust|web servers|caching|GPU kernels|actors|mathematics|statistics|the universe|evolution|religion|the human brain|hotels|plane tickets|airports|my email|the stars|
bridges|trains|volcanoes|robots|submarines|the alphabet|codes|chess openings|gardens|steam engines|the Vikings|satellites|telescopes|batteries|plastic|glass|paper|oil|gold mining|
coffee machines|tea ceremonies|yoga|running shoes|the Olympics|the moon landing|tides|earthquakes|mushrooms|bacteria|bones|the heart|diets|sugar|dreams|memory|logic""".replace("\n", "").split("|")
