"""What man pages are written with."""


def escaped(text):
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return '\\&' + text if text.startswith(('.', "'")) else text


def bold(text):
    return f'\\fB{escaped(text)}\\fR'


def page_start(name, section, summary, version):
    return [f'.TH "{name.upper()}" "{section}" "" "hbbp {version}" "hbbp"', '.SH NAME',
            f'{escaped(name)} \\- {escaped(summary)}']


def verbatim(lines):
    return ['.nf', *(escaped(line) if line.strip() else '.sp' for line in lines), '.fi']
