"""English pages of papers and textbooks: columns, formulas, tables, figures, references."""

from __future__ import annotations

from .furniture import (
    BODY,
    CAPTION,
    HEADING,
    SMALL,
    TITLE,
    PageSpec,
    bar_chart,
    columns,
    curve_plot,
    footnote,
    header,
    page_number,
)
from .sheet import Flow, Sheet
from .table import Look, draw_table, turned
from .typeset import Style


def rainfall_article(sheet: Sheet) -> None:
    """First page of a paper: title over two columns, a paragraph that runs into the second one."""
    header(sheet, "Journal of Upland Hydrology, Vol. 12, 2031", align="right")
    margin, width = 110, 1020
    _, y = sheet.text("title", "Slow Release of Rain from Terraced Slopes", margin, 140, width, TITLE)
    _, y = sheet.text("text_block", "Ada Morrow, Jin Tarkel and Lise Odum", margin, y, width, BODY.but(align="center"))
    _, y = sheet.text(
        "text_block",
        "Institute for Hill Farming, Port Calder",
        margin,
        y,
        width,
        BODY.but(latin="serif_italic", align="center", after=22),
    )
    flow = Flow(sheet, columns(sheet, 2, y, 1640))
    flow.text("Abstract", HEADING.but(px=26, align="center"), "title")
    flow.text(
        "We followed the water that leaves fourteen terraced plots after rain. A plot held back on average "
        "$0.38$ of the rain for more than two days, and the share grew with the age of the wall. A model with a "
        "single store explains most of the record.",
        BODY.but(px=23),
    )
    flow.text("1 Introduction", HEADING, "title")
    flow.texts(
        [
            "Terraces were built to keep soil on a slope. That they also keep water is known to every farmer who "
            "has watched a wall drip for days after a storm, yet the amount has rarely been measured. Old surveys "
            "speak of springs that ran until midsummer and failed once the walls above them had fallen.",
            "The question matters again because many walls are being rebuilt. A rebuilt wall costs as much as a "
            "small dam, and the money is granted on the belief that floods will be lower downstream. We asked how "
            "much rain a plot stores, for how long, and whether a simple law can describe its release.",
            "Three things could decide the matter: the age of a wall, the depth of the soil behind it, and the kind of "
            "stone. They are not independent, since deep soils were terraced first.",
            "Our plots lie between $420$ and $610$ metres above the sea, on schist, with slopes of $12$ to $31$ "
            "degrees. Each has a weir at its lower corner, read every ten minutes by a float gauge. The owners grow vines, "
            "olives and almonds, and on two of the plots nothing at all since the road was closed.",
        ],
        BODY.but(indent=28, after=6),
    )
    flow.y += 8
    flow.text("2 A single store", HEADING, "title")
    flow.text(
        "Let $S(t)$ be the water held by a plot at time $t$, fed by rain $p(t)$ and drained at a rate "
        "proportional to a power of the store. The balance reads",
        BODY,
    )
    flow.formula(r"\frac{dS}{dt} = p(t) - k S^{\beta}", 27, "(1)")
    flow.text(
        "where $k > 0$ is the release constant and $\\beta \\geq 1$ the shape of the recession. For $\\beta = 1$ and "
        "no further rain the store empties exponentially,",
        BODY,
    )
    flow.formula(r"S(t) = S_0 e^{-kt}, \qquad t \geq 0", 27, "(2)")
    flow.text(
        "so that half of it is gone after $t_{1/2} = \\ln 2 / k$. We fitted both parameters to the falling limbs of "
        "$61$ storms by least squares on the logarithm of the flow. Storms with less than six hours between them "
        "were joined and counted as one.",
        BODY,
    )
    flow.text("3 What the weirs show", HEADING, "title")
    flow.texts(
        [
            "All plots released water later than bare slopes of the same steepness. The median delay between the "
            "centre of the rain and the centre of the flow was $19$ hours, against $4$ hours for the bare slopes. "
            "Walls older than a century did best, perhaps because their fill has settled into layers.",
            "The exponent scatters little around $\\beta = 1.2$. Plots with a clay floor lie above, plots on loose "
            "stone below. Nothing in the record asks for a second store, although two plots keep a trickle of about "
            "$0.02$ litres a second through the driest month.",
        ],
        BODY.but(indent=28, after=6),
    )
    flow.y += 8
    flow.text("4 Limits of the law", HEADING, "title")
    flow.texts(
        [
            "The power law holds between $0.05$ and $3$ litres a second. Above, the weirs drown and the reading is "
            "a lower bound. Below, evaporation takes a share that we could not measure by night.",
        ],
        BODY.but(indent=28, after=6),
    )
    page_number(sheet, "141")


def transport_article(sheet: Sheet) -> None:
    """Inner page of a paper: a table with spans across the page, a chart, two columns below."""
    header(sheet, "Morrow et al.: Slow release of rain")
    caption, y = sheet.text(
        "table_caption",
        "Table 2. Storage and delay by age of wall. Means over all storms of the season.",
        110,
        140,
        1020,
        CAPTION,
    )
    grid = [
        ["Age of wall", "Plots", "Summer", "<", "Winter", "<"],
        ["^", "^", "Stored, mm", "Delay, h", "Stored, mm", "Delay, h"],
        ["under 20 years", "4", "9.1", "11.5", "6.0", "8.2"],
        ["20 to 100 years", "5", "14.6", "17.9", "9.8", "12.4"],
        ["over 100 years", "5", "21.3", "26.2", "13.7", "18.8"],
        ["bare slope", "3", "2.2", "4.1", "1.9", "3.0"],
    ]
    table, y = draw_table(sheet, grid, 150, y, 940, Look(line="fewer_line", head=2, px=23))
    sheet.relate("parent_son", table, caption)
    note, y = sheet.text(
        "table_footnote", "Delay is measured between the centres of rain and flow.", 150, y - 4, 940, SMALL
    )
    sheet.relate("parent_son", table, note)
    figure = sheet.figure(
        (250, y + 20, 990, y + 330),
        bar_chart([9.1, 14.6, 21.3, 2.2, 6.0, 9.8, 13.7], ["S1", "S2", "S3", "S0", "W1", "W2", "W3"]),
    )
    caption, y = sheet.text(
        "figure_caption",
        "Figure 3. Water stored in summer (S) and winter (W), by class of wall.",
        110,
        y + 344,
        1020,
        CAPTION,
    )
    sheet.relate("parent_son", figure, caption)
    flow = Flow(sheet, columns(sheet, 2, y + 16, 1640))
    flow.texts(
        [
            "Table 2 sorts the plots by the age of their lowest wall. The gain from the youngest to the oldest class "
            "is a factor of more than two in both seasons, which is larger than any effect of slope or soil that we "
            "could find. In winter the soil is wet to begin with and less can be added.",
            "Figure 3 repeats the figures as bars. The bare slopes, marked S0, have been measured in summer only "
            "with the full set of gauges; their winter value in the table rests on a single weir and should be read "
            "with care.",
            "One could object that old walls stand where the ground was good from the start. We therefore compared "
            "eight pairs of neighbouring plots that differ in age alone. The difference shrinks to $1.7$ but does "
            "not vanish, and its sign is the same in all pairs.",
        ],
        BODY.but(indent=28, after=6),
    )
    flow.text("4 Consequences", HEADING, "title")
    flow.texts(
        [
            "A valley with $30$ square kilometres of sound terraces would hold back some $0.6$ million cubic metres "
            "of a heavy summer storm. This is the volume of a modest reservoir, spread over thousands of small owners, "
            "none of whom is paid for it.",
            "We do not claim that terraces prevent floods. After three wet days the stores are full, and the next "
            "storm runs off as it would from bare ground. What they change is the common flood, the one that comes "
            "every second or third year.",
        ],
        BODY.but(indent=28, after=6),
    )
    page_number(sheet, "144")


def maths_textbook(sheet: Sheet) -> None:
    """Textbook page with display formulas: fractions, sums, integrals, an aligned derivation, a matrix."""
    header(sheet, "Chapter 5. Linear maps and their traces", align="right")
    flow = Flow(sheet, [(150, 140, 940, 1500)])
    flow.text("5.3 The trace of a map", HEADING.but(px=34), "title")
    flow.text(
        "Let $A$ be a square matrix with entries $a_{ij}$. The sum of its diagonal is called the trace. It does not "
        "change when the basis is changed, which makes it a property of the map itself.",
        BODY,
    )
    flow.formula(r"\mathrm{tr}(A) = \sum_{i=1}^{n} a_{ii}", 29, "(5.7)")
    flow.text("Theorem 5.4", HEADING.but(px=26), "title")
    flow.text(
        "For matrices $A$ and $B$ of matching size $\\mathrm{tr}(AB) = \\mathrm{tr}(BA)$. In particular the trace of "
        "$P^{-1} A P$ equals the trace of $A$.",
        BODY.but(latin="serif_italic"),
    )
    flow.text("The proof exchanges two finite sums:", BODY)
    flow.formula(
        r"\begin{aligned} \mathrm{tr}(AB) &= \sum_{i} \sum_{j} a_{ij} b_{ji} \\ "
        r"&= \sum_{j} \sum_{i} b_{ji} a_{ij} \\ &= \mathrm{tr}(BA) \end{aligned}",
        28,
    )
    flow.text(
        "As an example take the rotation of the plane by the angle $\\varphi$, followed by a stretch with the factor "
        "$r$. Its matrix in the standard basis is",
        BODY,
    )
    flow.formula(
        r"M = \begin{bmatrix} r\cos\varphi & -r\sin\varphi \\ r\sin\varphi & r\cos\varphi \end{bmatrix}", 28, "(5.8)"
    )
    flow.text(
        "with trace $2 r \\cos\\varphi$. Integrating over all angles gives zero, while the square of the trace has the mean",
        BODY,
    )
    flow.formula(r"\frac{1}{2\pi} \int_{0}^{2\pi} \left( 2 r \cos\varphi \right)^{2} d\varphi = 2 r^{2}", 29, "(5.9)")
    flow.text(
        "The same number appears as the sum of squared singular values. This is no accident, as the next section shows: "
        "for every real matrix the bound below holds, with equality only for multiples of an isometry.",
        BODY,
    )
    flow.formula(r"\left| \mathrm{tr}(A) \right| \leq \sqrt{n} \, \left\| A \right\|_{F}", 29, "(5.10)")
    flow.text("Exercises", HEADING, "title")
    flow.items(
        [
            "1. Show that $\\mathrm{tr}(A^{T} A) \\geq 0$, and say when it is zero.",
            "2. Find two matrices with equal trace and determinant that are not similar.",
            "3. Prove that no matrices satisfy $AB - BA = I$.",
        ],
        BODY.but(after=6),
        hang=40,
    )
    page_number(sheet, "97")


def oscillator_textbook(sheet: Sheet) -> None:
    """Physics page with a plot beside the text, a displayed solution and a boxed remark."""
    header(sheet, "Mechanics for beginners")
    flow = Flow(sheet, [(120, 150, 1000, 700)])
    flow.text("12.1 A mass on a spring, with friction", HEADING.but(px=34), "title")
    flow.text(
        "A mass $m$ hangs on a spring of stiffness $k$ and moves through oil. The oil resists with a force that grows "
        "with the speed, so that the position $x$ obeys",
        BODY,
    )
    flow.formula(r"m \ddot{x} + c \dot{x} + k x = 0", 30, "(12.1)")
    flow.text(
        "We write $\\omega_0^2 = k/m$ and $\\delta = c/(2m)$. If the friction is weak, $\\delta < \\omega_0$, the mass "
        "swings to and fro with an amplitude that shrinks in time:",
        BODY,
    )
    flow.formula(r"x(t) = A e^{-\delta t} \cos\left( \sqrt{\omega_0^2 - \delta^2} \, t + \varphi \right)", 30, "(12.2)")
    figure = sheet.figure((230, flow.y + 10, 1010, flow.y + 350), curve_plot(4.5))
    caption, y = sheet.text(
        "figure_caption",
        "Fig. 12.1 Position of the mass against time for weak friction",
        120,
        flow.y + 364,
        1000,
        CAPTION,
    )
    sheet.relate("parent_son", figure, caption)
    sheet.pen.rectangle((120, y + 14, 1120, y + 210), fill="#eef2e4", outline="#9aa884")
    sheet.ground = "single_colored"
    _, inner = sheet.text("title", "Remark", 146, y + 28, 948, HEADING.but(px=25, after=6))
    sheet.text(
        "text_block",
        "Two amplitudes that lie one period apart always have the same ratio. Its logarithm is called the decrement and "
        "is measured easily with a ruler: $\\Lambda = 2 \\pi \\delta / \\omega$.",
        146,
        inner,
        948,
        BODY,
    )
    sheet.ground = "white"
    flow = Flow(sheet, [(120, y + 240, 1000, 420)])
    flow.text(
        "For strong friction the root becomes imaginary and the mass creeps back without swinging. The border between the "
        "two cases, $\\delta = \\omega_0$, is used in door closers and in the needles of good instruments, since it "
        "returns to rest in the shortest time.",
        BODY,
    )
    page_number(sheet, "203")


def reference_list(sheet: Sheet) -> None:
    """The last page of a paper: acknowledgement and references in two columns."""
    header(sheet, "Journal of Upland Hydrology, Vol. 12, 2031", align="right")
    flow = Flow(sheet, columns(sheet, 2, 150, 1640))
    flow.text("Acknowledgement", HEADING, "title")
    flow.text(
        "The owners of the plots let us dig where we asked. The float gauges were lent by the harbour office.", BODY
    )
    flow.text("References", HEADING, "title")
    names = [
        "Abel, T.",
        "Brandt, O. and Ferro, L.",
        "Cassel, R.",
        "Dunmore, K.",
        "Eklund, S. and Pryce, V.",
        "Farrow, M.",
    ]
    works = [
        ("Walls without mortar", "Hill Press, Port Calder"),
        ("The water balance of a small terrace", "J. Upland Hydrol. 4, 33-51"),
        ("Recession curves and what they hide", "Proc. Soc. Rivers 19, 201-218"),
        ("Counting springs on old maps", "Map and Land 7, 5-24"),
        ("Float gauges for the patient observer", "Instruments 2, 88-97"),
        ("Floods of the second year", "Ann. Hydraul. 61, 415-440"),
        ("A survey of schist soils", "Bull. Soil Office 15, 1-60"),
    ]
    style = Style(px=22, leading=1.3, after=9)
    for number in range(26):
        title, place = works[(number * 3 + 1) % len(works)]
        part = "" if number < len(works) else f", part {number // len(works) + 1}"
        text = f"[{number + 1}] {names[(number * 5 + 2) % len(names)]} ({2004 + number}). {title}{part}. {place}."
        flow.text(text, style, "reference")
    page_number(sheet, "149")


def book_chapter(sheet: Sheet) -> None:
    """A page of prose with a footnote mark and its note."""
    header(sheet, "THE LIGHTKEEPER'S LEDGER", align="center")
    flow = Flow(sheet, [(170, 150, 900, 1340)])
    flow.text("Chapter Three", TITLE.but(px=38), "title")
    flow.text("In which a boat is counted twice", TITLE.but(px=30, latin="serif_italic", after=34), "title")
    style = BODY.but(px=27, indent=36, after=4, leading=1.42)
    flow.texts(
        [
            "The ledger said nineteen boats, and there were eighteen. Maren counted them again from the gallery, her "
            "finger moving along the quay, and then once more from the steps, where the masts stood apart from each "
            "other. Eighteen. She did not like to cross out a line that her father had written.",
            "He had kept the book for thirty-one years without an error, or without one that anybody had found, which in "
            "the village was held to be the same. Every evening he wrote the number of boats, the colour of the sky in "
            "the west, and the oil that had gone into the lamp.$^{1}$ On some evenings he added a word about a seal.",
            '"You have counted the Alma," said the boy who carried the oil. "She went in at noon and came out, and went in '
            'again at four." He said it kindly. He had noticed that people who wrote things down were easily hurt.',
            "So a boat could be counted twice. It was a small thing, and Maren felt the whole column above it begin to "
            "lean. If the Alma had been two boats yesterday, what had she been in the winter of the great ice, when the "
            "ledger said forty and the old men remembered thirty?",
            "She wrote eighteen, and beside it, smaller, the reason. It was the first reason in the book. The lamp was lit "
            "at ten minutes past seven, and the sky in the west was the colour of a plum.",
            "In the night the wind went round to the north. She heard the ropes complain and lay awake, adding up the "
            "boats that had never been.",
        ],
        style,
    )
    footnote(sheet, "$^{1}$ Whale oil until the year of the comet, rape oil after it.", 170, 1590, 900)
    page_number(sheet, "31")


def rotated_table(sheet: Sheet) -> None:
    """A wide table that is printed sideways on an upright page."""
    header(sheet, "Appendix C. Gauge readings")
    inner = Sheet("inner", width=1440, height=900)
    caption, y = inner.text(
        "table_caption", "Table C.1. Mean flow at the weirs in litres per second, by month", 0, 10, 1440, CAPTION
    )
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    grid = [["Weir", *months, "Year"]]
    for number in range(12):
        values = [
            round(0.4 + ((number * 7 + month * 5) % 23) / 10 + (0.8 if month in (0, 1, 10, 11) else 0), 1)
            for month in range(12)
        ]
        grid.append(
            [f"{'ABCD'[number // 3]}{number % 3 + 1}", *(f"{value:.1f}" for value in values), f"{sum(values) / 12:.2f}"]
        )
    table, _ = draw_table(inner, grid, 0, y, 1440, Look(line="less_line", px=23))
    inner.relate("parent_son", table, caption)
    turned(sheet, inner, 170, 150)
    page_number(sheet, "C-1")


PAGES = (
    PageSpec(
        "en_article_terraces.png",
        rainfall_article,
        "academic_literature",
        "english",
        "double_column",
        faces=("serif", "serif_bold", "serif_italic"),
    ),
    PageSpec(
        "en_article_table.png",
        transport_article,
        "academic_literature",
        "english",
        "1andmore_column",
        ("table_fewer_line", "table_horizontal", "table_span"),
        faces=("serif", "serif_bold", "sans"),
    ),
    PageSpec(
        "en_textbook_trace.png",
        maths_textbook,
        "book",
        "english",
        "single_column",
        subset="hard",
        faces=("serif", "serif_bold", "serif_italic"),
    ),
    PageSpec(
        "en_textbook_spring.png",
        oscillator_textbook,
        "colorful_textbook",
        "english",
        "single_column",
        ("colorful_backgroud",),
        faces=("serif", "serif_bold"),
    ),
    PageSpec(
        "en_article_references.png",
        reference_list,
        "academic_literature",
        "english",
        "double_column",
        faces=("serif", "serif_bold"),
    ),
    PageSpec(
        "en_book_ledger.png",
        book_chapter,
        "book",
        "english",
        "single_column",
        faces=("serif", "serif_bold", "serif_italic"),
    ),
    PageSpec(
        "en_appendix_rotated_table.png",
        rotated_table,
        "research_report",
        "english",
        "single_column",
        ("table_vertical", "table_less_line"),
        subset="hard",
        faces=("serif", "serif_bold"),
    ),
)
