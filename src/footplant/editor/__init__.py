"""The editor: a page on this machine in which a motion is edited by hand. `footplant edit` opens it.

`state` is what an edit changes, `actions` what each edit does, `session` the undoable list of them with its journal;
`wire` and `scene` are what the page is told, `server` and `talk` how. The page itself is TypeScript in web/.
"""
