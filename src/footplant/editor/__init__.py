"""The editor: a local page in which a motion is edited by hand. `footplant edit` opens it.

`state` is what an edit changes, `actions` what each edit does, `session` the undoable list of edits with its journal;
`wire` and `scene` are what the page receives, `server` and `connection` how. The page itself is TypeScript in web/.
"""
