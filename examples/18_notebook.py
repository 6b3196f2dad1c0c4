# %% A notebook in cells: in Jupyter or VS Code, a cell that ends with a clip shows it, and it plays
from pathlib import Path

import footplant

clip = footplant.load("sample:kick", fps=30)
clip  # noqa: B018

# %% Results are shown alike; outside of a notebook, show() opens the browser
result = footplant.mirror(clip)
result  # noqa: B018

# %% Offline: the same view as a page
print("wrote", Path("kick.html").write_text(result._repr_html_()) and "kick.html")
