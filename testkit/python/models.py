"""Asks the scripted provider with the official client of each protocol. Prints the answers that the client parsed."""

import json
import sys


def openai(url):
    from openai import APIConnectionError, APIStatusError, OpenAI

    client = OpenAI(base_url=url + "/v1", api_key="k", max_retries=0)
    tools = [
        {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    ]

    def ask():
        seen = {"text": "", "calls": {}, "finish": None, "tokens": None}
        try:
            stream = client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "hi"}],
                tools=tools,
                stream=True,
                stream_options={"include_usage": True},
            )
            for chunk in stream:
                for choice in chunk.choices:
                    seen["text"] += choice.delta.content or ""
                    for call in choice.delta.tool_calls or []:
                        known = seen["calls"].setdefault(call.index, ["", ""])
                        known[0] += call.function.name or ""
                        known[1] += call.function.arguments or ""
                    seen["finish"] = choice.finish_reason or seen["finish"]
                if chunk.usage:
                    seen["tokens"] = [chunk.usage.prompt_tokens, chunk.usage.completion_tokens]
        except APIStatusError as error:
            return {"status": error.status_code, "retry": error.response.headers.get("retry-after")}
        except (APIConnectionError, Exception) as error:
            return {"broken": type(error).__name__}
        seen["calls"] = [[name, json.loads(text)] for name, text in seen["calls"].values()]
        return seen

    return ask


def anthropic(url):
    from anthropic import Anthropic, APIStatusError

    client = Anthropic(base_url=url, api_key="k", max_retries=0)
    tools = [{"name": "look", "input_schema": {"type": "object", "properties": {}}}]

    def ask():
        try:
            with client.messages.stream(
                model="m", max_tokens=10, messages=[{"role": "user", "content": "hi"}], tools=tools
            ) as stream:
                message = stream.get_final_message()
        except APIStatusError as error:
            return {"status": error.status_code, "retry": error.response.headers.get("retry-after")}
        except Exception as error:
            return {"broken": type(error).__name__}
        return {
            "text": "".join(block.text for block in message.content if block.type == "text"),
            "calls": [[block.name, block.input] for block in message.content if block.type == "tool_use"],
            "finish": message.stop_reason,
            "tokens": [message.usage.input_tokens, message.usage.output_tokens],
        }

    return ask


def gemini(url):
    from google import genai
    from google.genai import errors, types

    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url))
    look = types.FunctionDeclaration(
        name="look", parameters={"type": "OBJECT", "properties": {"x": {"type": "STRING"}}}
    )
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[look])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )

    def ask():
        seen = {"text": "", "calls": [], "finish": None, "tokens": None}
        try:
            for chunk in client.models.generate_content_stream(model="m", contents="hi", config=config):
                for part in chunk.candidates[0].content.parts or []:
                    seen["text"] += part.text or ""
                    if part.function_call:
                        seen["calls"].append([part.function_call.name, part.function_call.args])
                finish = chunk.candidates[0].finish_reason
                seen["finish"] = finish.value if finish else seen["finish"]
                usage = chunk.usage_metadata
                seen["tokens"] = [usage.prompt_token_count, usage.candidates_token_count]
        except errors.APIError as error:
            return {"status": error.code, "retry": None}
        except Exception as error:
            return {"broken": type(error).__name__}
        return seen

    return ask


name, url, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
ask = {"openai": openai, "anthropic": anthropic, "gemini": gemini}[name](url)
print(json.dumps([ask() for _ in range(count)]))
