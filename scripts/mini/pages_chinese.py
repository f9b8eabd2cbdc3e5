"""Chinese and mixed pages: book, paper, report, exam, textbook, newspaper, slide, form, scan, manual."""

from __future__ import annotations

from .furniture import (
    BODY,
    CAPTION,
    HEADING,
    SMALL,
    TITLE,
    PageSpec,
    bar_chart,
    code,
    columns,
    footer,
    footnote,
    header,
    landscape,
    page_number,
)
from .noise import scan
from .sheet import Flow, Sheet
from .table import Look, draw_table
from .typeset import Style

TEXT = BODY.but(leading=1.6, after=6)
INDENTED = TEXT.but(indent=52)
SANS = Style(latin="sans", cjk="cjk_sans", px=24, leading=1.55, align="left")
SANS_HEADING = Style(latin="sans_bold", cjk="cjk_sans_bold", px=30, align="left", after=14)


def tea_book(sheet: Sheet) -> None:
    """一页书：正文、注号和脚注。"""
    header(sheet, "第四章  山里的茶", align="right")
    flow = Flow(sheet, [(160, 150, 920, 1330)])
    flow.text("第二节  采茶的日子", HEADING.but(px=36, after=24), "title")
    flow.texts(
        [
            "清明前后，雾从河谷里升起来，一直漫到半山腰的石阶上。采茶的人天不亮就出门，竹篓挂在腰间，里面放着两个冷饭团和一小包盐。"
            "老人说，露水没干的时候采下来的叶子最软，做出来的茶有一股豆子的香气。",
            "村里一共有四十七户人家，种茶的有三十九户。最老的茶树在祠堂后面，树干要两个人才能抱住。没有人知道它是谁种下的，"
            "县志里只写了一句话：“村东有大茶，岁收三斤。”$^{1}$ 如今它每年还能收两斤多，从来不卖，只在祭祖的那一天泡给客人喝。",
            "采茶看起来轻松，其实很讲究。要用指尖把嫩芽提起来，不能用指甲去掐，掐过的地方会发红。一个熟手一天能采六斤鲜叶，"
            "炒干以后不过一斤二三两。小孩子也跟着采，采得慢，可是嘴里的歌不停。",
            "下午收工，鲜叶要马上摊开，放在通风的竹席上。炒茶的锅烧到手背能感觉到热气，叶子倒进去的时候要有“沙沙”的声音。"
            "师傅的手在锅里翻动，快得看不清，十几分钟以后满屋都是香味。",
            "到了夜里，山下的灯一盏一盏熄了，只有茶坊还亮着。有人在门口算账：鲜叶多少，柴火多少，工钱多少。"
            "算完了，他给自己倒一杯新茶，慢慢地喝，好像这一天才刚刚开始。",
        ],
        INDENTED.but(px=27),
    )
    footnote(sheet, "$^{1}$ 见旧县志卷六，物产篇。原书缺三页，此处据抄本补。", 160, 1590, 920)
    page_number(sheet, "83")


def bridge_article(sheet: Sheet) -> None:
    """论文首页：双栏，公式，跨栏段落。"""
    header(sheet, "桥梁与材料  2031年第3期", align="right")
    _, y = sheet.text("title", "旧石拱桥的自振频率与裂缝识别", 110, 140, 1020, TITLE.but(px=42))
    _, y = sheet.text("text_block", "林一舟，何青禾，唐远", 110, y, 1020, TEXT.but(align="center"))
    _, y = sheet.text(
        "text_block", "（云溪工学院土木系，云溪 310900）", 110, y, 1020, TEXT.but(align="center", px=22, after=18)
    )
    flow = Flow(sheet, columns(sheet, 2, y, 1640))
    flow.text("摘要", HEADING.but(px=26, align="center"), "title")
    flow.text(
        "本文测量了十一座石拱桥在行人激励下的振动，并用一个简单的模型说明裂缝怎样改变第一阶频率。结果表明，频率下降 $5\\%$ 以上时，"
        "拱圈内部几乎总有看不见的裂缝。",
        TEXT.but(px=23),
    )
    flow.text("1  引言", HEADING, "title")
    flow.texts(
        [
            "石拱桥的寿命往往超过三百年，但是它们很少有完整的图纸。桥面重新铺过，栏杆换过，真正承重的拱圈却一直藏在里面。"
            "检查的人只能敲一敲石头，听它的声音。",
            "敲击的办法靠经验，结果因人而异。近年来有人提出用行人的脚步代替锤子，只要在桥面上放几个加速度计，走几个来回，"
            "就能得到桥的自振频率。这种办法便宜，也不用封桥。",
        ],
        INDENTED,
    )
    flow.text("2  模型", HEADING, "title")
    flow.text("把拱圈看成跨度为 $L$、抗弯刚度为 $EI$ 的曲梁，单位长度的质量为 $m$，它的第一阶频率是", TEXT)
    flow.formula(r"f_1 = \frac{\lambda^2}{2 \pi L^2} \sqrt{\frac{EI}{m}}", 28, "(1)")
    flow.text(
        "其中 $\\lambda$ 由矢跨比决定。若拱顶有一条深度为 $a$ 的裂缝，截面高度为 $h$，刚度的损失可以近似写成", TEXT
    )
    flow.formula(r"\frac{\Delta f}{f_1} \approx - \frac{3}{2} \left( \frac{a}{h} \right)^{2}", 28, "(2)")
    flow.texts(
        [
            "可见裂缝较浅时频率的变化很小，这正是以往的测量没有发现问题的原因。只有当 $a/h > 0.2$ 时，变化才会超过温度的影响。",
            "为了消除温度的影响，我们在同一天的早晨和中午各测一次，取两次的平均值。测量期间气温在 $12$ 到 $19$ 度之间。",
        ],
        INDENTED,
    )
    flow.text("3  测量结果", HEADING, "title")
    flow.texts(
        [
            "十一座桥中有八座的频率与模型相差不到 $3\\%$。其余三座明显偏低，后来钻孔检查，拱圈里都找到了裂缝，最深的一条达到十四厘米。",
            "其中一座桥的裂缝两侧还能看到旧灰浆，说明它早就修补过一次，只是没有留下记录。",
        ],
        INDENTED,
    )
    page_number(sheet, "17")


def harvest_report(sheet: Sheet) -> None:
    """报告：带合并单元格的表格、柱状图和注。"""
    header(sheet, "云溪县农业年报（2030）")
    _, y = sheet.text("title", "三、主要作物的产量", 110, 140, 1020, HEADING.but(px=36))
    _, y = sheet.text(
        "text_block",
        "全县粮食播种面积为 $18.6$ 万亩，比上一年减少 $2.1\\%$，总产量略有增加。水稻的单产提高最快，主要是因为南部两个镇换了新的灌溉渠。"
        "各镇的产量见表 3。",
        110,
        y,
        1020,
        INDENTED,
    )
    caption, y = sheet.text("table_caption", "表 3  各镇主要作物产量（单位：吨）", 110, y + 6, 1020, CAPTION)
    grid = [
        ["镇", "粮食作物", "<", "<", "经济作物", "<"],
        ["^", "水稻", "小麦", "玉米", "油菜", "茶叶"],
        ["河口镇", "12860", "3410", "2075", "1960", "14"],
        ["石桥镇", "9745", "4120", "3380", "2210", "35"],
        ["云岭镇", "4230", "1050", "2890", "870", "268"],
        ["白沙镇", "11090", "2980", "1640", "1745", "9"],
        ["合计", "37925", "11560", "9985", "6785", "326"],
        ["比上年增减", "增加", "减少", "<", "增加", "<"],
    ]
    look = Look(px=23, head=2, shade="#e4eedf", first_left=False)
    table, y = draw_table(sheet, grid, 130, y, 980, look)
    sheet.relate("parent_son", table, caption)
    note, y = sheet.text("table_footnote", "注：茶叶为干茶重量，其余为入库重量。", 130, y - 2, 980, SMALL)
    sheet.relate("parent_son", table, note)
    figure = sheet.figure(
        (260, y + 16, 980, y + 350),
        bar_chart([9.8, 10.4, 11.1, 10.7, 11.9, 12.9], ["2025", "2026", "2027", "2028", "2029", "2030"], "#6f8f5f"),
    )
    caption, y = sheet.text("figure_caption", "图 2  河口镇水稻产量（千吨）", 110, y + 364, 1020, CAPTION)
    sheet.relate("parent_son", figure, caption)
    flow = Flow(sheet, [(110, y + 8, 1020, 420)])
    flow.texts(
        [
            "茶叶产量虽然不大，产值却占全县农业的六分之一。云岭镇的茶园大多在海拔六百米以上，采摘期比平原晚十天左右，价格也更高。",
            "玉米减产的原因是七月的一场冰雹。受灾的四个村已经得到补助，其中两个村改种了荞麦。",
        ],
        INDENTED,
    )
    footer(sheet, "云溪县统计室编")
    page_number(sheet, "26", align="right")


def exam_physics(sheet: Sheet) -> None:
    """试卷：选择题、填空题和计算题。"""
    _, y = sheet.text("title", "八年级物理单元测验（三）", 110, 90, 1020, TITLE.but(px=36, after=8))
    _, y = sheet.text("text_block", "满分：60 分    时间：45 分钟", 110, y, 1020, TEXT.but(align="center", after=14))
    flow = Flow(sheet, [(110, y, 1020, 1460)])
    flow.text("一、选择题（每题 4 分）", HEADING.but(px=27), "title")
    questions = [
        ("1. 一个物体的质量是 $2$ kg，受到的重力大约是（    ）", "A. $2$ N    B. $20$ N    C. $200$ N    D. $0.2$ N"),
        (
            "2. 水的密度为 $1.0 \\times 10^{3}$ kg/m$^{3}$，一瓶 $500$ mL 的水的质量是（    ）",
            "A. $5$ g    B. $50$ g    C. $500$ g    D. $5000$ g",
        ),
        (
            "3. 小车在水平面上匀速运动，下列说法正确的是（    ）",
            "A. 小车不受力    B. 拉力大于摩擦力    C. 拉力等于摩擦力    D. 拉力小于摩擦力",
        ),
        (
            "4. 两个电阻 $R_1 = 6$ 欧和 $R_2 = 3$ 欧并联，总电阻是（    ）",
            "A. $9$ 欧    B. $4.5$ 欧    C. $2$ 欧    D. $0.5$ 欧",
        ),
    ]
    for question, options in questions:
        flow.text(question, TEXT.but(align="left", after=2))
        flow.text(options, TEXT.but(align="left", indent=52, after=10))
    flow.text("二、填空题（每空 3 分）", HEADING.but(px=27), "title")
    flow.text("5. 声音在空气中的速度约为 ______ m/s，在真空中 ______ 传播。", TEXT.but(align="left", after=10))
    flow.text("6. 杠杆平衡时，动力乘以 ______ 等于阻力乘以 ______。", TEXT.but(align="left", after=14))
    flow.text("三、计算题（共 20 分）", HEADING.but(px=27), "title")
    flow.text("7. 一辆自行车以 $v = 5$ m/s 的速度行驶了 $12$ 分钟。求它走过的路程。", TEXT.but(align="left", after=10))
    flow.text(
        "8. 某同学用弹簧测力计测得一块石头在空气中重 $4.2$ N，浸没在水中时读数为 $2.7$ N。求石头的密度。提示：",
        TEXT.but(align="left"),
    )
    flow.formula(r"\rho = \frac{G}{G - F} \, \rho_{0}", 29)
    page_number(sheet, "第 1 页，共 2 页")


def science_textbook(sheet: Sheet) -> None:
    """彩色课本：插图、思考框和公式。"""
    sheet.pen.rectangle((0, 0, sheet.width, 92), fill="#d5e7ea")
    sheet.ground = "single_colored"
    sheet.text("header", "第六单元  水的旅行", 90, 28, 700, SANS.but(px=25))
    sheet.ground = "white"
    flow = Flow(sheet, [(90, 140, 1060, 400)])
    flow.text("第 2 课  雨水去了哪里", SANS_HEADING.but(px=40, after=20), "title")
    flow.text(
        "下雨的时候，一部分水渗进土里，一部分顺着地面流走，还有一部分很快又变成水蒸气。科学家把这三部分叫做下渗、径流和蒸发。",
        SANS,
    )
    figure = sheet.figure((240, flow.y + 10, 1000, flow.y + 430), landscape("#d9e9f2", "#93b08a"))
    caption, y = sheet.text(
        "figure_caption", "图 6-2  山坡上的雨水", 90, flow.y + 440, 1060, SANS.but(px=20, align="center", after=16)
    )
    sheet.relate("parent_son", figure, caption)
    flow = Flow(sheet, [(90, y, 1060, 320)])
    flow.text("如果一块地上的降雨量是 $P$，下渗是 $I$，径流是 $R$，蒸发是 $E$，那么有", SANS)
    flow.formula(r"P = I + R + E", 32)
    flow.text("这个等式叫做水量平衡。量出其中三个数，就能算出第四个。", SANS)
    y = flow.y + 10
    sheet.pen.rectangle((90, y, 1150, y + 250), fill="#fbf1d6", outline="#d2b870")
    sheet.ground = "single_colored"
    _, inner = sheet.text("title", "想一想", 120, y + 20, 1000, SANS_HEADING.but(px=27))
    box = Flow(sheet, [(120, inner, 1000, 200)])
    box.items(
        [
            "1. 为什么砍掉树以后，径流会变大？",
            "2. 城市里的雨水和山坡上的雨水有什么不同？",
            "3. 你家附近的雨水流到了哪条河？",
        ],
        SANS.but(after=2),
        hang=40,
    )
    sheet.ground = "white"
    flow = Flow(sheet, [(90, y + 280, 1060, 300)])
    flow.text(
        "课后活动：用三个一样的花盆，分别装上沙子、黏土和种了草的土，各浇 $200$ 毫升水，记录从盆底流出来的水量。", SANS
    )
    page_number(sheet, "45", align="right", margin=90)


def newspaper(sheet: Sheet) -> None:
    """报纸：三栏，多条新闻。"""
    sheet.text("header", "云溪日报", 60, 50, 600, TITLE.but(px=58, align="left", after=0))
    sheet.text("header", "2031年3月4日  星期二  第 3 版", 640, 96, 540, SMALL.but(align="right"))
    sheet.pen.line((60, 140, 1180, 140), fill="black", width=4)
    _, y = sheet.text("title", "老车站变成图书馆，周末开门迎客", 60, 160, 1120, TITLE.but(px=46, align="left"))
    frames = columns(sheet, 3, y, 1675, margin=60, gutter=30)
    for left, top, _, height in frames[1:]:
        sheet.pen.line((left - 15, top, left - 15, top + height), fill="#888888", width=1)
    flow = Flow(sheet, frames)
    story = Style(px=29, leading=1.5, indent=58, after=3)
    head = HEADING.but(px=30, after=8)
    flow.texts(
        [
            "停用了十二年的城北老车站，经过一年半的修缮，本周六将作为图书馆重新开放。候车厅的木长椅全部保留，售票窗口改成了借书台，"
            "站台上的大钟也修好了。",
            "图书馆共有藏书六万余册，其中三千多册是市民捐赠的。馆长介绍，最早的一本是1911年的铁路时刻表，上面还有当年站长用铅笔写下的字。",
            "为了方便夜班工人，阅览室每天开到晚上十一点。旧月台上设了八张长桌，天气好的时候可以坐在外面看书，偶尔还能看到货车慢慢开过。",
            "家住附近的周奶奶说，她年轻时就是从这里坐车去上学的，“没想到老了还能回来念书”。",
        ],
        story,
    )
    flow.y += 12
    flow.text("南塘水质好转，白鹭回来了", head, "title")
    flow.texts(
        [
            "环保站的监测显示，南塘的水质连续三个季度达到三类标准。上个月，观鸟的市民在岸边数到了二十六只白鹭，比去年多了一倍。",
            "三年前，南塘还因为发臭被投诉。后来截断了四个排污口，又种了一圈芦苇，水才慢慢清起来。",
            "工作人员提醒，观鸟请站在木栈道上，不要投喂。",
        ],
        story,
    )
    flow.y += 12
    flow.text("豆腐节本月下旬举行", head, "title")
    flow.texts(
        [
            "一年一度的石桥豆腐节定于本月22日至24日举行。今年有三十一家作坊参加，除了老豆腐、臭豆腐，还有人要做一块两米见方的大豆腐。",
            "去年的大豆腐在出锅时裂成了两半，组织者说今年换了新的木框。",
        ],
        story,
    )
    flow.y += 12
    flow.text("简讯", head, "title")
    flow.texts(
        [
            "因检修管道，东门街周四上午八点到十一点停水。",
            "县棋院招收少年班学员二十名，周日下午报名。",
            "有人在三路公交车上拾到一把旧二胡，请失主到总站认领。",
            "昨日最高气温十七度，今天多云，有小雨，西北风三级。",
            "城西粮库的旧磨坊将改成面食博物馆，现向市民征集老擀面杖和各种模具，已经收到四十多件，其中一件刻着清楚的年号。",
            "中学生足球赛昨天结束，云岭中学以三比二战胜县一中，第一次夺得冠军。决胜的一球在最后一分钟攻入，守门员赛后说他当时没有看清。",
        ],
        story,
    )
    page_number(sheet, "3", y=1695)


def slide(sheet: Sheet) -> None:
    """幻灯片：标题、要点和小表格。"""
    sheet.pen.rectangle((0, 0, 26, sheet.height), fill="#b3463a")
    sheet.text("title", "夜班公交的试运行结果", 80, 56, 1200, SANS_HEADING.but(px=48))
    flow = Flow(sheet, [(80, 180, 1240, 330)])
    flow.items(
        [
            "• 两条线路，每三十分钟一班，从晚上十点到凌晨四点",
            "• 平均每班 11.4 人，周五最多，达到 26 人",
            "• 乘客多为医院、面包房和车站的职工",
        ],
        SANS.but(px=32, after=16),
        hang=44,
    )
    grid = [["线路", "班次", "乘客", "每班平均"], ["夜1路", "364", "4896", "13.5"], ["夜2路", "364", "3386", "9.3"]]
    draw_table(
        sheet,
        grid,
        200,
        flow.y + 10,
        900,
        Look(px=28, line="less_line", latin="sans", cjk="cjk_sans", shade="#f0d9d4", first_left=False),
    )
    sheet.text("footer", "云溪公交公司", 80, 830, 500, SANS.but(px=19))
    sheet.text("page_number", "7", 1240, 830, 80, SANS.but(px=19, align="right"))


def register_form(sheet: Sheet) -> None:
    """登记表：合并单元格和填写的内容。"""
    _, y = sheet.text("title", "社区志愿者登记表", 90, 90, 1060, SANS_HEADING.but(px=42, align="center", after=24))
    look = Look(px=24, latin="sans", cjk="cjk_sans", head=0, pad=17, first_left=False)
    grid = [
        ["姓名", "何青禾", "性别", "女", "年龄", "34"],
        ["住址", "云溪县东门街14号2单元", "<", "<", "<", "<"],
        ["电话", "0550-018277", "<", "职业", "中学教师", "<"],
        ["服务时间", "周六上午", "<", "服务地点", "城北图书馆", "<"],
        ["特长", "书法", "羽毛球", "英语", "急救", "修自行车"],
        ["^", "有", "有", "有", "无", "无"],
        ["自我介绍", "喜欢安静的工作，愿意整理旧书，也可以给孩子讲故事。", "<", "<", "<", "<"],
        ["审核意见", "同意，四月起上岗。", "<", "<", "<", "<"],
    ]
    _, y = draw_table(sheet, grid, 90, y, 1060, look, weights=[1.2, 1, 1, 1.2, 1, 1])
    _, y = sheet.text(
        "text_block",
        "填表说明：本表一式两份，一份由社区保存，一份交志愿者本人。内容如有变化，请在一个月内告知。",
        90,
        y + 12,
        1060,
        SANS.but(px=21),
    )
    sheet.text("text_block", "经办人：唐远", 90, y + 50, 500, SANS.but(px=22))
    sheet.text("text_block", "日期：2031年3月28日", 660, y + 50, 490, SANS.but(px=22, align="right"))


def old_notice(sheet: Sheet) -> None:
    """一份模糊的旧通知扫描件。"""
    _, y = sheet.text("title", "关于修建水渠的通知", 150, 180, 940, TITLE.but(px=40, after=34))
    style = TEXT.but(px=28, leading=1.7, indent=56, after=8)
    _, y = sheet.text("text_block", "各村：", 150, y, 940, style.but(indent=0))
    for text in (
        "去冬以来雨水稀少，上塘、下塘两处水位比往年低三尺有余。经商议，决定自本月十五日起修建东山水渠，全长四里，沿旧路开挖。",
        "各村按户出工，每户一人，自带锄头和扁担。午饭由公社食堂供应，不收粮票。有病的和家中有幼儿的可以免去。",
        "挖渠时不得损坏路旁的大树和界石。遇到古墓、旧井，应当停工并立即报告。",
        "工程预计四十天完成。完工以后，先灌溉地势高的田，再灌溉地势低的田，各村不得争水。",
    ):
        _, y = sheet.text("text_block", text, 150, y, 940, style)
    _, y = sheet.text("text_block", "云岭公社管理委员会", 150, y + 40, 900, style.but(align="right", indent=0))
    sheet.text("text_block", "一九六四年二月九日", 150, y, 900, style.but(align="right", indent=0))
    scan(sheet, -1.1, seed=1964, grain=18.0)


def mixed_manual(sheet: Sheet) -> None:
    """中英混排的说明书：代码、列表和表格。"""
    header(sheet, "Tidemark 使用手册  v2.1", align="right")
    style = TEXT.but(px=24)
    flow = Flow(sheet, [(110, 140, 1020, 700)])
    flow.text("3.1  安装 Tidemark", HEADING.but(px=34), "title")
    flow.text(
        "Tidemark 是一个读取水位计数据的小程序，支持 Linux、macOS 和 Windows。安装以前请确认 Python 的版本不低于 3.11，并且有写入 home 目录的权限。",
        style,
    )
    _, y = code(
        sheet,
        ["$ python -m venv gauge", "$ gauge/bin/pip install tidemark", "$ gauge/bin/tidemark --version"],
        110,
        flow.y + 6,
        1020,
    )
    flow = Flow(sheet, [(110, y, 1020, 500)])
    flow.text("安装完成后，第一次运行会创建一个名为 config.toml 的文件。其中最重要的三个选项是：", style)
    flow.items(
        [
            "1. port：串口的名称，例如 /dev/ttyUSB0。",
            "2. zero：零点的高度，单位是 cm。",
            "3. rate：采样率，默认 rate = 10，即每十分钟一次。",
        ],
        style.but(after=4),
        hang=40,
    )
    caption, y = sheet.text("table_caption", "表 3-1  Exit code 的含义", 110, flow.y + 12, 1020, CAPTION)
    grid = [
        ["Exit code", "含义", "Remedy"],
        ["0", "正常结束", "none"],
        ["2", "选项错误", "check config.toml"],
        ["5", "串口没有响应", "check the cable"],
        ["7", "磁盘已满", "free some space"],
    ]
    table, y = draw_table(sheet, grid, 160, y, 920, Look(px=23, line="fewer_line", first_left=False))
    sheet.relate("parent_son", table, caption)
    _, y = sheet.text("title", "3.2  常见问题", 110, y + 10, 1020, HEADING)
    flow = Flow(sheet, [(110, y, 1020, 400)])
    flow.text(
        "如果读数一直是 NaN，多半是 float gauge 的浮子卡住了。把盖子打开，轻轻拉动绳子；不要在运行时拔掉 USB 线，否则最后一行可能不完整。",
        style,
    )
    page_number(sheet, "19")


def formula_table(sheet: Sheet) -> None:
    """带公式的无线表格和推导。"""
    header(sheet, "附录  常用积分")
    flow = Flow(sheet, [(130, 140, 980, 300)])
    flow.text("附录一  常用的积分", HEADING.but(px=34), "title")
    flow.text("下表中 $a$ 是正的常数，积分常数一律省略。", TEXT)
    caption, y = sheet.text("table_caption", "表 1  基本积分", 130, flow.y, 980, CAPTION)
    grid = [
        ["被积函数", "原函数", "条件"],
        ["$x^{n}$", "$\\frac{x^{n+1}}{n+1}$", "$n \\neq -1$"],
        ["$\\frac{1}{x}$", "$\\ln |x|$", "$x \\neq 0$"],
        ["$e^{a x}$", "$\\frac{1}{a} e^{a x}$", ""],
        ["$\\sin (a x)$", "$-\\frac{1}{a} \\cos (a x)$", ""],
        ["$\\frac{1}{a^{2} + x^{2}}$", "$\\frac{1}{a} \\arctan \\frac{x}{a}$", ""],
        ["$\\frac{1}{\\sqrt{a^{2} - x^{2}}}$", "$\\arcsin \\frac{x}{a}$", "$|x| < a$"],
    ]
    table, y = draw_table(
        sheet, grid, 230, y, 780, Look(px=27, line="wireless_line", pad=14, first_left=False), weights=[1.2, 1.5, 1]
    )
    sheet.relate("parent_son", table, caption)
    flow = Flow(sheet, [(130, y + 10, 980, 700)])
    flow.text("例  求下面的定积分。令 $x = a \\tan t$，则 $dx = a \\sec^{2} t \\, dt$，于是", TEXT)
    flow.formula(
        r"\begin{aligned} \int_{0}^{a} \frac{dx}{a^{2} + x^{2}} &= \int_{0}^{\pi/4} \frac{a \sec^{2} t}{a^{2} \sec^{2} t} \, dt \\ &= \frac{\pi}{4a} \end{aligned}",
        28,
    )
    flow.text("若上限趋于无穷，则得到", TEXT)
    flow.formula(r"\int_{0}^{\infty} \frac{dx}{a^{2} + x^{2}} = \frac{\pi}{2a}", 29, "(A.3)")
    page_number(sheet, "312")


_SERIF = ("serif", "serif_bold", "cjk", "cjk_bold")
_SANS = ("sans", "sans_bold", "cjk_sans", "cjk_sans_bold")
PAGES = (
    PageSpec("zh_book_tea.png", tea_book, "book", "simplified_chinese", "single_column", faces=_SERIF),
    PageSpec(
        "zh_article_bridge.png",
        bridge_article,
        "academic_literature",
        "simplified_chinese",
        "double_column",
        faces=_SERIF,
    ),
    PageSpec(
        "zh_report_harvest.png",
        harvest_report,
        "research_report",
        "simplified_chinese",
        "single_column",
        ("table_full_line", "table_span", "table_horizontal", "colorful_backgroud"),
        faces=(*_SERIF, "sans"),
    ),
    PageSpec("zh_exam_physics.png", exam_physics, "exam_paper", "simplified_chinese", "single_column", faces=_SERIF),
    PageSpec(
        "zh_textbook_water.png",
        science_textbook,
        "colorful_textbook",
        "simplified_chinese",
        "single_column",
        ("colorful_backgroud",),
        faces=_SANS,
    ),
    PageSpec("zh_newspaper_daily.png", newspaper, "newspaper", "simplified_chinese", "three_column", faces=_SERIF),
    PageSpec(
        "zh_slide_night_bus.png",
        slide,
        "PPT2PDF",
        "simplified_chinese",
        "single_column",
        ("table_less_line", "table_horizontal"),
        size=(1400, 900),
        paper="#fbf7f2",
        faces=_SANS,
    ),
    PageSpec(
        "zh_form_volunteer.png",
        register_form,
        "note",
        "simplified_chinese",
        "single_column",
        ("table_full_line", "table_span", "table_horizontal"),
        subset="hard",
        faces=_SANS,
    ),
    PageSpec(
        "zh_scan_notice.jpg",
        old_notice,
        "historical_document",
        "simplified_chinese",
        "single_column",
        ("fuzzy_scan",),
        subset="hard",
        faces=_SERIF,
    ),
    PageSpec(
        "zh_manual_mixed.png",
        mixed_manual,
        "book",
        "en_ch_mixed",
        "single_column",
        ("table_fewer_line", "table_horizontal"),
        faces=(*_SERIF, "mono"),
    ),
    PageSpec(
        "zh_appendix_integrals.png",
        formula_table,
        "book",
        "simplified_chinese",
        "single_column",
        ("table_wireless_line", "table_with_formula", "table_horizontal"),
        subset="hard",
        faces=_SERIF,
    ),
)
