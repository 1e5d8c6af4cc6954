"""The cell magic %%hbbp for IPython and Jupyter."""
from typing import Any, Dict

from IPython.core.error import UsageError
from IPython.core.magic import Magics as BaseMagics
from IPython.core.magic import cell_magic, magics_class, needs_local_scope
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from ._errors import Error
from ._session import Session


def unquoted(text: str) -> str:
    """Removes the quotes that IPython keeps around text with spaces."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in '"\'' else text


@magics_class
class Magics(BaseMagics):  # type: ignore[misc]

    @magic_arguments()
    @argument('-s', '--source', default='none', help='ebs, lbr, ibs, swbt, auto, ebs-and-swbt')
    @argument('-c', '--period', type=int, default=0, help='occurrences of the event a sample')
    @argument('-b', '--by', type=unquoted, default='module,function',
              help='keys of rows, as Profile.pivot')
    @argument('--columns', type=unquoted, default=None, help='keys of columns')
    @argument('-w', '--where', type=unquoted, default=None, help='which instructions count')
    @argument('-n', '--top', type=int, default=10, help='rows at most')
    @argument('-o', '--output', default='profile', help='variable that gets the hbbp.Profile')
    @needs_local_scope
    @cell_magic
    def hbbp(self, line: str, cell: str, local_ns: Dict[str, Any]) -> None:
        """Profiles the code of the cell, native code included, and shows a pivot of it."""
        arguments = parse_argstring(self.hbbp, line)
        try:
            session = Session(arguments.source, period=arguments.period)
        except (Error, ValueError) as error:
            raise UsageError(str(error)) from None
        with session:
            outcome = self.shell.run_cell(cell, store_history=False)
        profile = session.profile()
        session.close()
        self.shell.user_ns[arguments.output] = profile
        if not outcome.success:
            return
        try:
            display(profile.pivot(arguments.by, arguments.columns, where=arguments.where,
                                  top=arguments.top))
        except Error as error:
            raise UsageError(str(error)) from None
