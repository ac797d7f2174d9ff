"""What goes wrong with commands, flag values and batch rows: E09xx of ``codes.CODES``.

An example that begins with ``$`` is a command; one for E0920 to E0925 is a row of a batch: a line
of JSON, or CSV with its header.
"""

from __future__ import annotations

CODES: dict[str, tuple[str, str, str]] = {
    "E0901": (
        "a value that cannot be read",
        "A value is a number, a list 0,1,2, rows 1,2;3,4, a range 0:10:0.1, or nested brackets, "
        "with int: or another type in front where it is no float. The marks show the part that "
        "is wrong.",
        '$ gradcli eval "x+1" --x 0,1,2o,3',
    ),
    "E0902": (
        "neither an option nor a variable",
        "An option --name is either one that the command knows, see --help, or a variable that "
        "stands in the expression. Look for a slip of the finger; to set a variable that has the "
        "name of an option, write --set name=3.",
        '$ gradcli grad "x^2" --x 3 --y 4',
    ),
    "E0903": (
        "rows or shapes that do not fit",
        "All rows of a matrix have the same length, and the sizes before the colon of 2x2:1,2,3,4 "
        "multiply to the count of the numbers.",
        '$ gradcli eval "x" --x "1,2;3"',
    ),
    "E0904": (
        "a file that cannot be read",
        "The file is missing, is no file, holds something else than numbers, or may not be read "
        "here: rows of a batch cannot name files. Pickled and compressed Python objects are "
        "never read.",
        '$ gradcli eval "x" --x @missing.npy',
    ),
    "E0905": (
        "something that is not available for this value",
        "The device, the element type, the number of digits or the output format does not exist or "
        "cannot hold this value: CSV has two axes, a GPU needs CuPy.",
        '>>> import gradcli\n>>> gradcli.tensor(1.0).to("cuda:7")\n',
    ),
    "E0906": (
        "an unknown command",
        "The first word is a command: eval, grad, jac and so on; gradcli --help lists them. An "
        'expression alone needs one in front: gradcli eval "1+1".',
        '$ gradcli gard "x^2" --x 3',
    ),
    "E0907": (
        "an option that cannot be used like this",
        "The option's value is not one it takes, two options exclude each other, or something is "
        "missing. gradcli COMMAND --help shows each option and an example.",
        '$ gradcli eval "1/3" --precision many',
    ),
    "E0908": (
        "an option without its value",
        "The option or variable is the last word, or the next word is an option again. Write --x 3 "
        "or --x=3.",
        '$ gradcli eval "x" --x',
    ),
    "E0909": (
        "a variable given twice",
        "It is not clear which value is meant. Give each variable once.",
        '$ gradcli eval "x" --x 1 --x 2',
    ),
    "E0910": (
        "a name that the program does not have",
        "An option such as --wrt, --of, --show or --retain names a variable that has no value, "
        "that the program does not make, or by which nothing can be differentiated. Whole "
        "numbers and truth values have no derivative.",
        '$ gradcli grad "x^2" --x 3 --wrt y',
    ),
    "E0912": (
        "a weight of the wrong shape",
        "A cotangent has one entry for each entry of the result, a direction one for each entry of "
        "its variable.",
        '$ gradcli grad "x^2" --x 1,2 --cotangent 1,2,3',
    ),
    "E0920": (
        "a row that is not JSON",
        "Each line of the input is one JSON object. Names stand in double quotes, there is no "
        'comma before the closing brace, and NaN and Infinity are written in quotes: "NaN".',
        "{x: 1.5}",
    ),
    "E0921": (
        "a row with characters that cannot be read",
        "The line holds bytes that are not UTF-8, or a NUL byte. The file may be damaged, or "
        "saved in another encoding such as UTF-16; save it as UTF-8.",
        '{"x": 1.5\0}',
    ),
    "E0922": (
        "a row that is too long",
        "A line has at most 16 MiB. Split the row, or make large constants part of the program.",
        "",
    ),
    "E0923": (
        "a field that is no value",
        "A variable's field holds a number, nested lists of numbers with rows of one length, or "
        'a text such as "1,2;3,4". Objects, null and truth values among numbers are not values; '
        "an id is a text or a number.",
        '{"x": [[1, 2], [3]]}',
    ),
    "E0924": (
        "a field that stands twice",
        "Two fields of a row, or two columns, have one name, and it is not clear which is meant. "
        "Remove or rename one.",
        '{"x": 1, "x": 2}',
    ),
    "E0925": (
        "a CSV row that does not fit its header",
        "The first line names the columns and each row has a cell for each. A list that holds "
        'commas stands in quotes, "1,2,3", which close on the same line.',
        "id,x\nfirst,1,2\n",
    ),
    "E0999": (
        "an error inside gradcli",
        "This is a mistake of the program, not of yours. Please report the command; with "
        "GRADCLI_DEBUG=1 in the environment it shows where it happened.",
        "",
    ),
}
