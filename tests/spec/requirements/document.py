"""Requirements of change documents."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "Change documents"

REQUIREMENTS: dict[str, Requirement] = {
    "document:form:both": Requirement(SOURCE, "A change is written as TOML or JSON, and both say the same."),
    "document:form:requests": Requirement(
        SOURCE, "Each write is planned as it was written, in order, with local files found beside the document."
    ),
    "document:fault:place": Requirement(
        SOURCE, "The first fault of a document is told with the place where it stands."
    ),
    "document:limit:bounded": Requirement(
        SOURCE, "A document has a largest size and a largest number of writes, and says so."
    ),
}
