# SPDX-License-Identifier: Apache-2.0
"""Apache Kafka's own command line tools, as classes from the registry's jars."""
import shutil
import subprocess

from clients import JAVA_LIBRARIES, java_command
from report import Skip

TOOLS = {"topics": "org.apache.kafka.tools.TopicCommand",
         "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
         "console-producer": "org.apache.kafka.tools.ConsoleProducer",
         "verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
         "dump-log": "org.apache.kafka.tools.DumpLogSegments"}
TOOL_SECONDS = 120


def need():
    """Skips the check where the tools are not here."""
    if shutil.which("java") is None:
        raise Skip("there is no java")
    if not list(JAVA_LIBRARIES.glob("kafka-tools-*.jar")):
        raise Skip("Maven could not bring Apache Kafka's tools")


def command(tool, *arguments):
    return [*java_command(TOOLS[tool]), *map(str, arguments)]


def run(tool, *arguments, data=b"", may_fail=False):
    """What it printed on both outputs."""
    need()
    done = subprocess.run(command(tool, *arguments), input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TOOL_SECONDS, check=False)
    text = done.stdout.decode(errors="replace")
    assert may_fail or done.returncode == 0, f"kafka-{tool} {arguments}: {text[-600:]}"
    return text
