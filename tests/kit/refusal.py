"""What is said of an input that is refused."""


def refusal(kind, function, *arguments):
    """What an error of that kind says, in one line; None if there is no error."""
    try:
        function(*arguments)
    except kind as error:
        return str(error)
    return None
