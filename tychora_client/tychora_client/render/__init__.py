"""Results as people and agents read them. Each module renders one thing; none of them does any work.

places      a Locator as words: "p. 15", "lines 7–9"
safe        text of a document or a path, harmless on a terminal
ansi        colour, width, wrapping
markdown · agent · text        a QueryResult
reports · tables               what add, verify and inspect return
statements · difference        what is withdrawn, erased and ruled; what two snapshots differ in
copies · upkeep                what sync, pack and the like return, and what the actions of manage do
"""
