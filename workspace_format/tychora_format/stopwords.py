"""Words that carry no content in a question. Documents keep theirs, so a question of nothing else can be asked.

The lists are our own choice of articles, pronouns, prepositions, conjunctions, auxiliaries, question words.
"""

from __future__ import annotations

__all__ = ["STOP_WORDS", "UNSEGMENTED_STOP_WORDS"]

_ENGLISH = """
a an the this that these those such same other another each every either neither both all any some no none
not nor i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her
hers herself it its itself they them their theirs themselves one ones someone anyone and or but if then
else than so because while until unless although though whether as of at by for with without about against
between among into onto through throughout during before after above below to from up down in out on off
over under upon within per via toward towards am is are was were be been being do does did done doing have
has had having can could may might must shall should will would ought let don doesn didn isn aren wasn
weren won cannot t s re ve ll d m what which who whom whose when where why how whatever whichever again
also just only very too here there now ever yet still once more most much many few less least own please
tell show find explain describe say says said give gives given according happen happens
"""

_GERMAN = """
der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dieser
diese dieses diesen diesem jener jene jenes jeder jede jedes jeden jedem alle allen aller alles manche
solche solcher ich du er sie es wir ihr mich dich sich uns euch ihn ihm ihnen mein meine dein deine sein
seine seinen seinem seiner ihre ihren ihrem ihrer unser unsere euer eure man und oder aber sondern denn
wenn dann als ob weil dass daß damit sowie sowohl weder noch von vom zu zum zur mit ohne für gegen bei
beim nach aus auf an am in im ins um durch über unter vor hinter zwischen neben seit bis während wegen
trotz laut gemäß bin bist ist sind war waren wird werden wurde wurden worden sei wäre habe hat haben hatte
hatten kann können konnte muss müssen musste soll sollen sollte darf dürfen will wollen würde würden mag
was wer wen wem wessen wann wo woher wohin warum weshalb wieso wie welche welcher welches welchen welchem
wieviel wozu wofür womit worin wodurch nicht nur auch sehr so hier da dort nun jetzt schon noch immer
wieder bitte etwa doch ja nein lautet lauten regelt regeln beginnt beginnen steht stehen heißt heißen
besagt besagen nennt nennen gibt viel viele vielen
"""

STOP_WORDS = frozenset((_ENGLISH + _GERMAN).casefold().split())
"""English and German, casefolded."""

_UNSEGMENTED = """
什么 什麼 哪些 哪个 哪個 哪里 哪裡 哪一 多少 如何 怎么 怎麼 怎样 怎樣 为什么 為什麼 为何 是否 是谁 請問 请问 何时
的 是 吗 嗎 呢 吧 啊
ですか ますか でしょうか ました します です ます とは について における どの どこ どれ なぜ いつ だれ
は を に へ と で が の も や か
무엇 어디 언제 누구 어떤 어떻게 왜 입니까 습니까
"""

UNSEGMENTED_STOP_WORDS = tuple(sorted(_UNSEGMENTED.split(), key=lambda word: (-len(word), word)))
"""Chinese, Japanese and Korean, the longest first: a question is cut at them."""
