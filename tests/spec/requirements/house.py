"""Requirements of the house: what keeps the project readable and its promises true."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "How this project keeps itself honest"

REQUIREMENTS: dict[str, Requirement] = {
    "house:manifest:ids": Requirement(
        SOURCE,
        "Every requirement has one id, of the form area:feature:variant, in the module of its area.",
    ),
    "house:manifest:covered": Requirement(
        SOURCE,
        "Every requirement is proved by a test, or says why it is not yet.",
    ),
    "house:manifest:named": Requirement(
        SOURCE,
        "Every test names at least one requirement, and only requirements that exist.",
    ),
    "house:manifest:told": Requirement(
        SOURCE,
        "Every requirement is told to users in exactly one line of the guarantees, and the guarantees promise no more.",
    ),
    "house:manifest:scan": Requirement(
        SOURCE,
        "The tests are found by reading their files, so that a partial run can't hide a promise without proof.",
    ),
    "house:tidy:files": Requirement(
        SOURCE,
        "Every shipped file says at its top what lives in it, and stays short enough to be read in one go.",
    ),
    "house:tidy:names": Requirement(
        SOURCE,
        "No shipped module has a name that says nothing.",
    ),
    "house:tidy:leftovers": Requirement(
        SOURCE,
        "No note to ourselves and no debugging output is shipped.",
    ),
    "house:tidy:tests": Requirement(
        SOURCE,
        "Every test's name is a sentence, and its docstring gives the reason for it.",
    ),
    "house:front_door:names": Requirement(
        SOURCE,
        "Every public name is listed in sorted order and can be imported from the front door.",
    ),
    "house:front_door:light": Requirement(
        SOURCE,
        "Importing amends brings names, not libraries: it loads none of its dependencies.",
    ),
    "house:docs:generated": Requirement(
        SOURCE,
        "What the documentation shows of tables and messages is generated from the code and is up to date.",
    ),
    "house:docs:examples": Requirement(
        SOURCE,
        "Every example of the documentation is run, and shows what is printed.",
    ),
    "house:packaging:typed": Requirement(
        SOURCE,
        "The wheel ships the type marker and the licence, and nothing of the tests.",
    ),
    "house:packaging:version": Requirement(
        SOURCE,
        "The version is one and the same in the project file, in the installed metadata and at the front door.",
    ),
    "house:skill:valid": Requirement(
        SOURCE, "The skill for agents is valid by the Agent Skills specification, and short."
    ),
    "house:skill:rules": Requirement(SOURCE, "The skill shows the governor's rules, generated from the code."),
    "house:skill:examples": Requirement(SOURCE, "Every command of the skill is run, and prints what the skill shows."),
}
