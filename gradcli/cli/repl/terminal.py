"""The REPL on a terminal: prompt_toolkit's line editor, and the engine loaded behind the prompt.

The prompt is there before NumPy is: what needs the engine (running an input, completing, colours)
waits for a thread that loads it once the first prompt was drawn.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import completion_is_selected, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from gradcli.cli.repl.settings import Settings

if TYPE_CHECKING:
    from gradcli.cli.repl.shell import Shell

PROMPT, MORE = "> ", ". "
GREETING = "gradcli: type an expression, or :help"
COLOURS = {
    "keyword": "ansiblue bold", "number": "ansimagenta", "string": "ansigreen",
    "operator": "ansicyan", "comment": "ansibrightblack", "command": "ansiyellow bold",
    "prompt": "ansigreen bold", "continuation": "ansibrightblack",
    "matching-bracket.other": "bold underline", "matching-bracket.cursor": "bold underline",
}  # fmt: skip


def talk(
    settings: Settings, folder: str | None, make: Callable[[], Shell],
    begin: Callable[[Shell], object],
) -> int:  # fmt: skip
    """Prompt, take the input, and again, until Ctrl-D or ``:quit``.

    ``make`` loads and makes the shell in any thread; ``begin`` is called with it in this one.
    """
    begun = False
    loader = Loader(make)
    editor = _editor(settings, folder, loader)
    sys.stdout.write(GREETING + "\n")
    sys.stdout.flush()
    while True:
        try:
            given = editor.prompt(
                [("class:prompt", PROMPT)],
                vi_mode=settings["keys"] == "vi",
                color_depth=_depth(settings),
            )
        except EOFError:
            return 0
        except KeyboardInterrupt:
            continue
        shell = loader.wait()
        if not begun:
            begin(shell)
            begun = True
        shell.width = os.get_terminal_size(sys.stdout.fileno()).columns
        leave = not shell.take(given)
        sys.stdout.flush()
        if leave:
            return 0


class Loader:
    """The shell, made in a thread of its own once ``begin`` was called."""

    def __init__(self, make: Callable[[], Shell]) -> None:
        self.make = make
        self.shell: Shell | None = None
        self.problem: BaseException | None = None
        self.thread = threading.Thread(target=self._load, daemon=True)
        self.started = False

    def begin(self, *_: Any) -> None:
        """Load in the background; a second call does nothing."""
        if not self.started:
            self.started = True
            self.thread.start()

    def _load(self) -> None:
        try:
            self.shell = self.make()
        except BaseException as problem:
            self.problem = problem

    def wait(self) -> Shell:
        """The shell, as soon as it is there. Raises what making it raised."""
        self.begin()
        self.thread.join()
        if self.problem is not None:
            raise self.problem
        assert self.shell is not None
        return self.shell


def _editor(settings: Settings, folder: str | None, loader: Loader) -> PromptSession[str]:
    history = _History(None if folder is None else os.path.join(folder, "history"), settings)
    # Only the height of the space below the cursor would be asked for, and terminals that do not
    # answer get a warning.
    os.environ.setdefault("PROMPT_TOOLKIT_NO_CPR", "1")
    editor: PromptSession[str] = PromptSession(
        history=history, multiline=True, key_bindings=_keys(loader), lexer=_Colours(loader),
        completer=_Names(loader), complete_while_typing=False, enable_history_search=True,
        auto_suggest=AutoSuggestFromHistory(), reserve_space_for_menu=4,
        input_processors=[HighlightMatchingBracketProcessor(chars="[](){}")],
        prompt_continuation=lambda width, line, wrapped: [("class:continuation", MORE)],
        style=Style.from_dict(COLOURS),
        editing_mode=EditingMode.VI if settings["keys"] == "vi" else EditingMode.EMACS,
    )  # fmt: skip
    editor.app.after_render += loader.begin
    return editor


def _depth(settings: Settings) -> ColorDepth | None:
    """Whether there are colours: None leaves it to the terminal."""
    wanted = settings["color"]
    if wanted == "never" or (wanted == "auto" and os.environ.get("NO_COLOR")):
        return ColorDepth.DEPTH_1_BIT
    return None


def _keys(loader: Loader) -> KeyBindings:
    keys = KeyBindings()
    editing = has_focus("DEFAULT_BUFFER")

    @keys.add("enter", filter=editing & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        """Run what is complete; else a new line, indented like the one before."""
        from gradcli.cli.repl import splitting

        buffer = event.current_buffer
        loader.wait()
        *before, line = buffer.document.text_before_cursor.split("\n")
        at_end = not buffer.document.text_after_cursor.strip()
        if before and line.strip() and at_end:
            buffer.delete_before_cursor(len(line))
            line = splitting.reindented(before, line)
            buffer.insert_text(line)
        text = buffer.text
        done = at_end and not splitting.unfinished(splitting.without_prompts(text))
        if done or splitting.is_command(text) or not text.strip():
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n" + " " * splitting.next_indent(line))

    @keys.add("escape", "enter", filter=editing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("tab", filter=editing & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        """Indent where a line begins, else complete."""
        buffer = event.current_buffer
        if not buffer.document.current_line_before_cursor.strip() and "\n" in buffer.text:
            from gradcli.cli.repl.splitting import INDENT

            buffer.insert_text(" " * INDENT)
        elif buffer.complete_state:
            buffer.complete_next()
        else:
            buffer.start_completion(insert_common_part=True)

    return keys


class _Names(Completer):
    """The completions of ``completion``, once the engine is there."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        from gradcli.cli.repl.completion import completions

        for found in completions(self.loader.wait().session, document.text_before_cursor):
            yield Completion(found.text, -found.length, display_meta=found.said)


class _Colours(Lexer):
    """The styles of ``highlighting``, once the engine is there; plain text before."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def invalidation_hash(self) -> Any:
        """Whether the engine is there: then everything is drawn anew."""
        return self.loader.shell is not None

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        shell = self.loader.shell
        if shell is None:
            plain = document.lines
            return lambda number: [("", plain[number])] if number < len(plain) else []
        from gradcli.cli.repl.highlighting import highlighted

        lines: list[StyleAndTextTuples] = [[]]
        for style, piece in highlighted(document.text, shell.session.variables):
            for i, part in enumerate(piece.split("\n")):
                if i:
                    lines.append([])
                lines[-1].append((f"class:{style}" if style else "", part))
        return lambda number: lines[number] if number < len(lines) else []


class _History(History):
    """Inputs of earlier sessions: a file of JSON texts, a line each, the newest last.

    Each input is appended as one write, so that two sessions can share the file.
    """

    def __init__(self, path: str | None, settings: Settings) -> None:
        super().__init__()
        self.path = path
        self.most = settings["history"]

    def load_history_strings(self) -> Iterable[str]:
        """The inputs, the newest first."""
        import json

        if self.path is None:
            return []
        try:
            with open(self.path, encoding="utf-8", errors="replace") as f:
                lines = f.readlines()
        except OSError:
            return []
        if len(lines) > 2 * self.most:
            self._shorten(lines[-self.most :])
        found = []
        for line in reversed(lines[-self.most :]):
            try:
                text = json.loads(line)
            except ValueError:
                continue
            if isinstance(text, str):
                found.append(text)
        return found

    def store_string(self, string: str) -> None:
        """Append one input; a folder that cannot be written to keeps no history."""
        import json

        if self.path is None or not string.strip():
            return
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, (json.dumps(string) + "\n").encode())
            finally:
                os.close(descriptor)
        except OSError:
            self.path = None

    def _shorten(self, lines: list[str]) -> None:
        try:
            with open(f"{self.path}.new", "w", encoding="utf-8") as f:
                f.writelines(lines)
            os.replace(f"{self.path}.new", str(self.path))
        except OSError:
            return
