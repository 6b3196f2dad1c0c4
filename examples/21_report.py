"""What happened to the feet: figures, a table, and a page for people."""

import json

import footplant
from footplant import plot

result = footplant.terrain(footplant.load("sample:walk", fps=30), "stairs:0.15:0.4")
print(result.report)
for measure, before, after in result.report.comparison():
    print(f"{measure}: {before} → {after}")
with open("stairs.json", "w") as file:
    json.dump(result.report.to_dict(), file)
print("wrote", plot.report_page(result, "stairs.html"))
