"""English pages of other kinds: exam, newspaper, slide, report, listing, form, scan, index, magazine."""

from __future__ import annotations

from .furniture import (
    BODY,
    CAPTION,
    HEADING,
    SMALL,
    TITLE,
    PageSpec,
    code,
    columns,
    footer,
    header,
    landscape,
    page_number,
)
from .noise import scan
from .sheet import Flow, Sheet
from .table import Look, draw_table
from .typeset import Style

SANS = Style(latin="sans", cjk="cjk_sans", px=23, leading=1.4, align="left")
SANS_HEADING = Style(latin="sans_bold", cjk="cjk_sans_bold", px=28, align="left", after=14)


def exam_paper(sheet: Sheet) -> None:
    """Questions with options and inline formulas, and a small table to read."""
    header(sheet, "Name: ____________________   Class: ______   Number: ______")
    _, y = sheet.text("title", "Mathematics, Mid-Term Examination", 110, 130, 1020, TITLE.but(px=36, after=8))
    _, y = sheet.text("text_block", "Time allowed: 60 minutes. Full marks: 50", 110, y, 1020, BODY.but(align="center"))
    flow = Flow(sheet, [(110, y, 1020, 1400)])
    flow.text("Part A. Choose one answer (3 marks each)", HEADING, "title")
    option = BODY.but(align="left", indent=46)
    questions = [
        ("1. If $2x + 3 = 11$, then $x^2 - 1$ equals", "A. $7$   B. $15$   C. $16$   D. $63$"),
        (
            "2. The roots of $x^2 - 5x + 6 = 0$ are",
            "A. $1$ and $6$   B. $-2$ and $-3$   C. $2$ and $3$   D. $-1$ and $6$",
        ),
        (
            "3. A ladder of $5$ m leans on a wall, its foot $3$ m from it. How high does it reach?",
            "A. $3$ m   B. $4$ m   C. $\\sqrt{34}$ m   D. $8$ m",
        ),
        ("4. Which number is the greatest?", "A. $\\frac{3}{4}$   B. $0.7$   C. $\\frac{5}{7}$   D. $\\sqrt{0.5}$"),
    ]
    for question, options in questions:
        flow.text(question, BODY.but(align="left", after=4))
        flow.text(options, option)
    flow.text("Part B. Show your working", HEADING, "title")
    flow.text(
        "5. (8 marks) The table gives the height of a bean plant. Find the mean growth per day.", BODY.but(align="left")
    )
    grid = [["Day", "0", "3", "6", "9", "12"], ["Height in cm", "2.0", "3.1", "4.9", "7.4", "9.2"]]
    _, flow.y = draw_table(sheet, grid, 200, flow.y + 4, 840, Look(head=1, px=23))
    flow.text("6. (10 marks) Solve the system of equations", BODY.but(align="left"))
    flow.formula(r"\begin{aligned} 3x - 2y &= 4 \\ x + 4y &= 13 \end{aligned}", 27)
    flow.text(
        "7. (12 marks) A tank is filled by one pipe in $4$ hours and by another in $6$ hours. How long do both "
        "need together? Explain why the answer is not $5$ hours.",
        BODY.but(align="left"),
    )
    footer(sheet, "Turn over")
    page_number(sheet, "Page 1 of 4", align="right")


def newspaper(sheet: Sheet) -> None:
    """A dense page in three columns, with headlines and stories that run on."""
    sheet.pen.line((60, 150, 1180, 150), fill="black", width=4)
    sheet.text("header", "THE CALDER MESSENGER", 60, 60, 1120, TITLE.but(px=56, after=0))
    sheet.text("header", "Tuesday, 4 March 2031", 60, 158, 560, SMALL)
    sheet.text("header", "Local News, Page 3", 620, 158, 560, SMALL.but(align="right"))
    _, y = sheet.text(
        "title", "Harbour bridge to open by night, says council", 60, 205, 1120, TITLE.but(px=42, align="left")
    )
    frames = columns(sheet, 3, y, 1675, margin=60, gutter=30)
    for left, top, _, height in frames[1:]:
        sheet.pen.line((left - 15, top, left - 15, top + height), fill="#888888", width=1)
    flow = Flow(sheet, frames)
    story = Style(px=25, leading=1.25, indent=20, after=2)
    head = HEADING.but(px=27, leading=1.2, after=8)
    flow.texts(
        [
            "The old swing bridge will carry traffic through the night from April, the harbour council decided on "
            "Monday by nine votes to four. Until now it has stood open for ships from ten in the evening, and drivers "
            "had to take the long way round by Saint Brannoc.",
            "Four more keepers will be hired. Each ship has to announce itself half an hour ahead, by radio or, as a "
            "compromise with the fishermen, by ringing the bell on the north pier.",
            "Councillor Bett Arlen, who had opposed the plan for eleven years, voted for it. She told this paper that she "
            "had been stuck at the bridge on Sunday for fifty minutes behind a barge loaded with gravel.",
            "The fishermen remain doubtful. Their speaker said that a bell is not heard in a westerly wind and that nobody "
            "had asked the boats. The council will look at the matter again after the first summer.",
        ],
        story,
    )
    flow.y += 12
    flow.text("School orchard gives its first pears", head, "title")
    flow.texts(
        [
            "Eleven years after the first trees were set, the orchard behind the lower school has borne pears. There were "
            "forty-three of them. They were weighed, drawn, counted again, and eaten on Friday by the whole of class four.",
            "The trees came from a nursery that has since closed, and nobody remembers the name of the variety. The "
            "children have suggested seven names. A vote is to be held after the holidays.",
            "The headmistress asks whoever took the ladder to bring it back.",
        ],
        story,
    )
    flow.y += 12
    flow.text("Late trains: the figures", head, "title")
    flow.texts(
        [
            "Of the 412 trains that reached the town in February, 61 were more than ten minutes late. The railway names "
            "three causes: frost in the points at Low Fell, a shortage of drivers, and a swan.",
            "The swan kept to the line between the tunnel and the gasworks for most of a morning. It could not be moved "
            "by whistles. A driver who has worked the line since 1998 said that he had seen cows, a piano and a wedding, "
            "but never a swan.",
            "Passengers whose train was more than an hour late may ask for half the fare at the counter. Forms are there, "
            "the office adds, if it is open.",
        ],
        story,
    )
    flow.y += 12
    flow.text("In brief", head, "title")
    flow.texts(
        [
            "The library is closed on Thursday for the counting of books.",
            "A brown glove, left hand, has been found on the steps of the town hall. It has a darned thumb.",
            "The choir seeks two basses. No audition, but a steady ear is asked for. Rehearsals are on Wednesdays at "
            "half past seven in the old customs house, second floor, and end with soup.",
            "Water will be shut off in Mill Lane between eight and eleven on Saturday while a valve of the year 1911 "
            "is replaced. The museum has asked for the valve.",
            "The ferry to the outer islands sails at six, not at seven, from Monday on. The winter timetable on the "
            "landing stage is wrong and has been wrong since November, as several readers have written.",
            "Mr Olan Pry has grown a leek of two metres and nine centimetres. He declines to show it.",
            "The chess club beat Saint Brannoc by five boards to three. The decisive game lasted until midnight and ended "
            "when the visitors' captain overlooked a pawn.",
            "Readers are reminded that letters must bear a name. The letter about the weathercock did not, and it was a "
            "good letter.",
        ],
        story,
    )
    page_number(sheet, "3", y=1695)


def slide(sheet: Sheet) -> None:
    """A slide with a coloured ground, a list and a picture."""
    sheet.pen.rectangle((0, 0, sheet.width, 130), fill="#23415f")
    sheet.ground = "single_colored"
    sheet.text("title", "Why small depots work", 70, 36, 1100, SANS_HEADING.but(px=46, ink="white"))
    big = SANS.but(px=31, after=18)
    flow = Flow(sheet, [(70, 180, 700, 640)])
    flow.text("Three findings from two winters", SANS_HEADING.but(px=33), "title")
    flow.items(
        [
            "- Walking distance to a shelf fell from 90 to 25 metres.",
            "- Nothing was moved twice, so less was broken.",
            "- Each depot knows its own customers by name.",
        ],
        big,
    )
    flow.y += 10
    flow.text("Cost per parcel went down by a fifth, in spite of higher rents.", big)
    figure = sheet.figure((820, 200, 1310, 620), landscape("#dfe8ef", "#7c93a6"))
    caption, _ = sheet.text(
        "figure_caption", "Depot 4, seen from the canal", 820, 636, 490, SANS.but(px=20, align="center")
    )
    sheet.relate("parent_son", figure, caption)
    sheet.text("footer", "Logistics Day, Port Calder", 70, 830, 600, SANS.but(px=18))
    sheet.text("page_number", "12", 1250, 830, 80, SANS.but(px=18, align="right"))


def report_table(sheet: Sheet) -> None:
    """A company report: a ruled table with spans in rows and columns, a note and two paragraphs."""
    header(sheet, "Norrby Tools plc, Annual Report 2030", align="right")
    _, y = sheet.text("title", "Notes to the accounts", 110, 140, 1020, HEADING.but(px=36))
    _, y = sheet.text(
        "text_block",
        "Sales are shown by region and by kind of product. The regions follow the place of the customer, not of the "
        "warehouse. Figures of the previous year have been restated after the sale of the saw blade business.",
        110,
        y,
        1020,
        BODY,
    )
    caption, y = sheet.text(
        "table_caption", "Table 7: Sales by region and product, in thousand crowns", 110, y, 1020, CAPTION
    )
    grid = [
        ["Region", "Product", "2030", "<", "2029", "<"],
        ["^", "^", "Units", "Sales", "Units", "Sales"],
        ["North", "Hand tools", "48,200", "9,114", "45,010", "8,377"],
        ["^", "Power tools", "7,950", "11,920", "7,410", "10,868"],
        ["^", "Spare parts", "-", "2,305", "-", "2,198"],
        ["South", "Hand tools", "31,640", "5,871", "33,205", "6,093"],
        ["^", "Power tools", "5,120", "7,702", "4,980", "7,340"],
        ["^", "Spare parts", "-", "1,466", "-", "1,395"],
        ["Overseas", "All products", "12,300", "6,488", "9,870", "5,012"],
        ["Total", "<", "<", "44,866", "<", "41,283"],
    ]
    table, y = draw_table(sheet, grid, 110, y, 1020, Look(px=23, head=2, shade="#e7ecf2"))
    sheet.relate("parent_son", table, caption)
    note, y = sheet.text("table_footnote", "Spare parts are not counted in units.", 110, y - 4, 1020, SMALL)
    sheet.relate("parent_son", table, note)
    _, y = sheet.text("title", "Trade receivables", 110, y + 20, 1020, HEADING)
    _, y = sheet.text(
        "text_block",
        "Customers pay within 30 days as a rule. At the end of the year 1,204 thousand crowns were overdue by more than "
        "90 days, of which 310 thousand have been written down. One customer in the south accounts for a third of the sum "
        "and has agreed to pay in six parts.",
        110,
        y,
        1020,
        BODY,
    )
    caption, y = sheet.text("table_caption", "Table 8: Receivables by age", 110, y, 1020, CAPTION)
    grid = [
        ["Age", "Gross", "Written down", "Net"],
        ["not due", "5,870", "12", "5,858"],
        ["1 to 30 days", "1,655", "20", "1,635"],
        ["31 to 90 days", "730", "64", "666"],
        ["over 90 days", "1,204", "310", "894"],
    ]
    table, y = draw_table(sheet, grid, 210, y, 820, Look(px=23, line="wireless_line"))
    sheet.relate("parent_son", table, caption)
    footer(sheet, "Norrby Tools plc")
    page_number(sheet, "58", align="right")


def listing_manual(sheet: Sheet) -> None:
    """A page of a programming manual: listings with captions between paragraphs."""
    header(sheet, "Tidemark User Guide", align="left")
    style = BODY.but(px=25)
    _, y = sheet.text("title", "4.2 Reading a gauge file", 110, 140, 1020, HEADING.but(px=34))
    _, y = sheet.text(
        "text_block",
        "A gauge file holds one reading a line: the time, a comma, and the height in centimetres. Lines that begin with a "
        "hash are remarks. The function below reads the file and leaves out what it cannot parse.",
        110,
        y,
        1020,
        style,
    )
    caption, y = sheet.text(
        "code_txt_caption", "Listing 4.3: gauge.py", 110, y, 1020, CAPTION.but(align="left", after=8)
    )
    block, y = code(
        sheet,
        [
            "from pathlib import Path",
            "",
            "def readings(path: Path) -> list[tuple[str, float]]:",
            "    found = []",
            "    for line in path.read_text().splitlines():",
            "        if not line or line.startswith('#'):",
            "            continue",
            "        time, _, height = line.partition(',')",
            "        found.append((time.strip(), float(height)))",
            "    return found",
        ],
        110,
        y,
        1020,
    )
    sheet.relate("parent_son", block, caption)
    _, y = sheet.text(
        "text_block",
        "The highest water of the day is then found in two lines. Note that the text of the time sorts in the right order "
        "by itself, as long as hours are written with two digits.",
        110,
        y,
        1020,
        style,
    )
    _, y = code(
        sheet,
        ["day = [item for item in readings(path) if item[0] < '24:00']", "print(max(day, key=lambda item: item[1]))"],
        110,
        y,
        1020,
    )
    _, y = sheet.text("title", "4.3 Options", 110, y + 8, 1020, HEADING)
    flow = Flow(sheet, [(110, y, 1020, 600)])
    flow.items(
        [
            "1. Set the zero of the gauge before the first reading of a season.",
            "2. Give the offset in centimetres, with its sign.",
            "3. Leave the file open while the gauge runs; the program only appends to it.",
        ],
        style.but(after=8),
        hang=40,
    )
    flow.text("An unknown option stops the program with exit code 2 and names the nearest option that exists.", style)
    page_number(sheet, "37")


def form(sheet: Sheet) -> None:
    """A form with fields in a ruled grid, tick boxes and a line to sign."""
    sheet.text("header", "Form 12-B", 90, 60, 1060, SANS.but(px=19, align="right"))
    _, y = sheet.text(
        "title", "Application for a Mooring Permit", 90, 100, 1060, SANS_HEADING.but(px=38, align="center")
    )
    _, y = sheet.text(
        "text_block",
        "Please write in capital letters. Hand in at the harbour office, counter 3.",
        90,
        y,
        1060,
        SANS.but(px=21, align="center", after=22),
    )
    look = Look(px=21, latin="sans", cjk="cjk_sans", head=0, pad=16)
    grid = [
        ["Surname", "ODUM", "Given name", "LISE MARIT"],
        ["Street, number", "QUAY STREET 14", "<", "<"],
        ["Postal code", "4410", "Town", "PORT CALDER"],
        ["Telephone", "0550 018 277", "Born on", "17 MAY 1994"],
        ["Name of boat", "GREY HERON", "Registration", "PC 2071"],
        ["Length in m", "7.80", "Draught in m", "1.15"],
    ]
    _, y = draw_table(sheet, grid, 90, y, 1060, look, weights=[1.1, 1.6, 1.1, 1.6])
    _, y = sheet.text("title", "Kind of permit", 90, y + 12, 1060, SANS_HEADING)
    for text, ticked in (("one season", False), ("whole year", True), ("guest, up to 14 nights", False)):
        sheet.pen.rectangle((96, y + 2, 120, y + 26), outline="black", width=2)
        if ticked:
            sheet.pen.line((100, y + 14, 106, y + 22, 117, y + 5), fill="black", width=3)
        _, y = sheet.text("text_block", text, 140, y, 900, SANS)
    _, y = sheet.text("title", "For office use", 90, y + 16, 1060, SANS_HEADING)
    grid = [
        ["Received", "Fee", "Berth", "Checked by"],
        ["3 APR 2031", "180.00", "N 22", "BA"],
        ["Remarks", "<", "<", "<"],
        ["", "<", "<", "<"],
    ]
    _, y = draw_table(sheet, grid, 90, y, 1060, look, weights=[1, 1, 1, 1])
    _, y = sheet.text(
        "text_block",
        "I have read the harbour rules and will keep them. I know that the permit ends when the boat is sold.",
        90,
        y + 14,
        1060,
        SANS.but(px=21, after=70),
    )
    sheet.pen.line((90, y, 520, y), fill="black", width=2)
    sheet.pen.line((660, y, 1150, y), fill="black", width=2)
    sheet.text("text_block", "Place and date", 90, y + 8, 430, SANS.but(px=18))
    sheet.text("text_block", "Signature", 660, y + 8, 430, SANS.but(px=18))


def typed_letter(sheet: Sheet) -> None:
    """A typed letter, scanned badly."""
    typed = Style(latin="mono", px=22, leading=1.5, align="left", after=20)
    _, y = sheet.text("text_block", "Port Calder, 9 October 1961", 130, 150, 980, typed.but(align="right"))
    _, y = sheet.text("text_block", "To the Keeper of the North Light", 130, y + 30, 980, typed)
    _, y = sheet.text("title", "Re: oil delivered in September", 130, y + 10, 980, typed)
    for text in (
        "Dear Sir,",
        "we have your letter of the 2nd and have looked into the matter. Our book shows eleven casks put ashore on the "
        "14th, as ordered. Your receipt names ten. The carter says that one cask was left on the slip because the tide "
        "was coming in, and that he told the boy.",
        "We suggest that you look below the boathouse. If the cask is not there we shall bear half of its price, which "
        "is 37.50 crowns, without thereby admitting a fault.",
        "The wicks you ask for are no longer made. We can offer a broader kind, 42 mm, at the same price for the dozen. "
        "Please let us know before the end of the month, as the last boat sails on the 28th.",
        "Yours faithfully,",
        "p.p. Ferro and Sons, Lamp Oil and Ship's Stores",
    ):
        _, y = sheet.text("text_block", text, 130, y, 980, typed)
    sheet.text("footer", "Telephone 118. Telegrams: FERROIL", 130, 1620, 980, typed.but(px=19, align="center"))
    scan(sheet, 0.8, seed=1961)


def index_page(sheet: Sheet) -> None:
    """The densest page: an index in three columns of small type."""
    header(sheet, "Index", align="right", margin=80)
    flow = Flow(sheet, columns(sheet, 3, 140, 1690, margin=80, gutter=36))
    style = Style(px=18, leading=1.24, align="left", after=1)
    heads = [
        "anchor",
        "barge",
        "beacon",
        "bell",
        "bight",
        "breakwater",
        "buoy",
        "canal",
        "chart",
        "current",
        "dock",
        "eddy",
        "ferry",
        "fog",
        "gauge",
        "gravel",
        "harbour",
        "ice",
        "keel",
        "lamp",
        "ledger",
        "lock",
        "mast",
        "mole",
        "mooring",
        "oil",
        "pier",
        "pilot",
        "quay",
        "reef",
        "rope",
        "sail",
        "shoal",
        "signal",
        "slip",
        "storm",
        "tide",
        "tow",
        "weir",
        "wharf",
        "wick",
        "wind",
    ]
    tails = [
        "fees for",
        "first use of",
        "in winter",
        "loss of",
        "measured",
        "rules on",
        "see also tide",
        "upkeep of",
        "words for",
    ]
    letter = ""
    for number, head in enumerate(heads):
        if head[0] != letter:
            letter = head[0]
            flow.text(letter.upper(), HEADING.but(px=20, after=2), "title")
        lines = [f"{head}, {11 + (number * 37) % 280}"]
        for step in range(5 + number % 4):
            page = 14 + (number * 53 + step * 29) % 290
            lines.append(f"{tails[(number * 2 + step * 4) % len(tails)]}, {page}-{page + 1 + (number + step) % 5}")
        flow.text("; ".join(lines), style.but(align="left", indent=0))
    page_number(sheet, "311", align="right", margin=80)


def empty_page(sheet: Sheet) -> None:
    """Almost nothing: one line and a page number."""
    sheet.text("text_block", "This page is left blank on purpose.", 110, 840, 1020, BODY.but(align="center"))
    page_number(sheet, "iv")


def magazine(sheet: Sheet) -> None:
    """A magazine page: a picture over the width, a coloured quotation, three columns of unequal length."""
    sheet.pen.rectangle((0, 0, sheet.width, 64), fill="#7a2f3a")
    sheet.ground = "single_colored"
    sheet.text("header", "SLOW TRAVEL", 70, 18, 500, SANS.but(px=22, ink="white"))
    sheet.ground = "white"
    figure = sheet.figure((70, 100, 1170, 700), landscape())
    caption, y = sheet.text(
        "figure_caption", "The Fell valley in May, before the mowing", 70, 710, 1100, CAPTION.but(align="right")
    )
    sheet.relate("parent_son", figure, caption)
    _, y = sheet.text("title", "Eleven stations, no hurry", 70, y + 6, 1100, TITLE.but(px=50, align="left", after=10))
    _, y = sheet.text(
        "text_block",
        "The branch line to Low Fell was to close three times. Now it carries cheese, schoolchildren and poets.",
        70,
        y,
        1100,
        BODY.but(latin="serif_italic", px=28, align="left", after=22),
    )
    flow = Flow(sheet, columns(sheet, 3, y, 1640, margin=70, gutter=34))
    story = BODY.but(px=24, indent=20, after=3)
    flow.texts(
        [
            "The train leaves from platform five, which is not beside platform four. You go out past the bakery, cross a "
            "yard and climb a stair that was meant to be temporary. The guard waits for you. He has seen you from the "
            "bakery.",
            "For the first half hour the line keeps to the river. Herons stand in it at distances that seem to have been "
            "agreed upon. At the second halt a woman gets in with a cello and a goat; the goat has a ticket.",
            "There are eleven stations and no connection at any of them. This, the company believes, is its strength. A "
            "traveller who has missed nothing arrives in a good temper.",
        ],
        story,
    )
    flow.turn()
    sheet.pen.rectangle((flow.frame[0], flow.y, flow.frame[0] + flow.frame[2], flow.y + 190), fill="#f3e6d8")
    sheet.ground = "single_colored"
    sheet.text(
        "text_block",
        "We do not run late. We run when the milk is there.",
        flow.frame[0] + 20,
        flow.y + 24,
        flow.frame[2] - 40,
        BODY.but(latin="serif_bold", px=32, align="center"),
    )
    sheet.ground = "white"
    flow.y += 214
    flow.texts(
        [
            "The cheese came first. In 1987 a dairy at Upper Fell asked whether the last train could wait for the evening "
            "milk. It could. The timetable has since carried a small cow beside one departure, and the cow is explained "
            "nowhere.",
            "Then the school at Brannoc Mill lost its bus. Ninety children now ride with the cheese, and do their homework "
            "on the way. Marks in geography are said to be excellent.",
            "Above the last tunnel the valley opens. The driver slows down, though no signal tells him to, and for a minute "
            "nobody in the carriage speaks. Then the buffers, a bench, a tap with cold water.",
            "The way back is the same and takes eight minutes less, because it is downhill. Most people walk a little first.",
        ],
        story,
    )
    page_number(sheet, "44", align="right", margin=70)


_SERIF = ("serif", "serif_bold")
_SANS = ("sans", "sans_bold")
PAGES = (
    PageSpec(
        "en_exam_mathematics.png",
        exam_paper,
        "exam_paper",
        "english",
        "single_column",
        ("table_full_line", "table_horizontal"),
        faces=_SERIF,
    ),
    PageSpec("en_newspaper_messenger.png", newspaper, "newspaper", "english", "three_column", faces=_SERIF),
    PageSpec(
        "en_slide_depots.png",
        slide,
        "PPT2PDF",
        "english",
        "single_column",
        ("colorful_backgroud",),
        size=(1400, 900),
        paper="#f7f5ef",
        faces=_SANS,
    ),
    PageSpec(
        "en_report_sales.png",
        report_table,
        "research_report",
        "english",
        "single_column",
        ("table_full_line", "table_span", "table_wireless_line", "table_horizontal", "colorful_backgroud"),
        subset="hard",
        faces=_SERIF,
    ),
    PageSpec("en_manual_listing.png", listing_manual, "book", "english", "single_column", faces=(*_SERIF, "mono")),
    PageSpec(
        "en_form_mooring.png",
        form,
        "research_report",
        "english",
        "single_column",
        ("table_full_line", "table_horizontal", "table_span"),
        faces=_SANS,
    ),
    PageSpec(
        "en_scan_letter.jpg",
        typed_letter,
        "historical_document",
        "english",
        "single_column",
        ("fuzzy_scan",),
        subset="hard",
        faces=("mono",),
    ),
    PageSpec("en_index_dense.png", index_page, "book", "english", "three_column", subset="hard", faces=_SERIF),
    PageSpec("en_blank_leaf.png", empty_page, "book", "english", "single_column", faces=("serif",)),
    PageSpec(
        "en_magazine_branch_line.jpg",
        magazine,
        "magazine",
        "english",
        "three_column",
        ("colorful_backgroud",),
        faces=(*_SERIF, "serif_italic", "sans"),
    ),
)
